"""The registered samplers and drivers. The command line reads these tables, which import nothing."""

# name -> "module:name"; all are in grammarlm.decoding.diffusion
RULES = {
    "fixed": "samplers.fixed:fixed",
    "confidence": "samplers.confidence:confidence",
    "entropy": "samplers.entropy:entropy",
    "sched": "samplers.sched:sched",
    "prophet": "samplers.prophet:prophet",
    "credit": "samplers.credit:credit",
    "policy": "samplers.policy:policy",
    "history": "samplers.history:history",
    "leap": "samplers.leap:leap",
    "explore": "samplers.explore:explore",
    "adablock": "samplers.adablock:adablock",
    "bounded": "samplers.bounded:bounded",
    "regions": "samplers.regions:regions",
}
DRIVERS = {
    "full": "drivers.full:full",
    "blocks": "drivers.blocks:blocks",
    "window": "drivers.window:window",
    "stream": "drivers.stream:stream",
    "freedave": "drivers.freedave:freedave",
    "s2d2": "drivers.s2d2:s2d2",
}
SAMPLERS = (*RULES, *DRIVERS)
