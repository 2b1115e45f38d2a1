"""What has a name: the core's mechanisms, and the published systems, of which the core knows nothing but these names.

What one would pick without having read a paper is in the core. Each published system is a file of `grammarlm.published`, which
imports the core, and is imported by its name, once somebody asks for it. The command line reads these tables, which import nothing.
"""

from importlib import import_module
from typing import Any


def system(place: str) -> Any:
    """What a table names, as "module:name" below `grammarlm`."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"grammarlm.{module}"), name)


# gl.infill(sampler=): functions from a Look to a Choice, and drivers, which have one of these inside
RULES = {
    "fixed": "decoding.diffusion.samplers:fixed",
    "confidence": "decoding.diffusion.samplers:confidence",
    "entropy": "decoding.diffusion.samplers:entropy",
    "sched": "published.samplers.sched:sched",
    "prophet": "published.samplers.prophet:prophet",
    "credit": "published.samplers.credit:credit",
    "policy": "published.samplers.policy:policy",
    "history": "published.samplers.history:history",
    "leap": "published.samplers.leap:leap",
    "explore": "published.samplers.explore:explore",
    "adablock": "published.samplers.adablock:adablock",
    "bounded": "published.samplers.bounded:bounded",
    "regions": "published.samplers.regions:regions",
}
DRIVERS = {
    "full": "decoding.diffusion.samplers:full",
    "blocks": "decoding.diffusion.samplers:blocks",
    "window": "published.samplers.window:window",
    "stream": "published.samplers.stream:stream",
    "freedave": "published.samplers.freedave:freedave",
    "s2d2": "published.samplers.s2d2:s2d2",
}
SAMPLERS = (*RULES, *DRIVERS)

# gl.Draft(acceptance=): a rule, or a class of rules; True: the law of the answers is the target's
ACCEPTANCE = {
    "exact": ("decoding.speculative.acceptance:Exact", True),
    "ratio": ("published.acceptance.ratio:RATIO", True),
    "recursive": ("published.acceptance.recursive:RECURSIVE", True),
    "kseq": ("published.acceptance.kseq:KSEQ", True),
    "typical": ("published.acceptance.typical:TYPICAL", False),
    "lenient": ("published.acceptance.lenient:LENIENT", False),
    "judge": ("published.acceptance.judge:Judge", False),
    "reflective": ("published.acceptance.reflective:Reflective", False),
    "steps": ("published.acceptance.steps:Steps", False),
    "confident": ("published.acceptance.confident:Confident", False),
    "big_little": ("published.acceptance.big_little:BigLittle", False),
    "iterations": ("published.acceptance.iterations:Iterations", False),
}
