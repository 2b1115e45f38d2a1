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


# gl.generate(method=)
METHODS = {
    "masked": "decoding.methods.masked:masked",
    "awrs": "published.methods.awrs:awrs",
    "smc": "published.methods.smc:smc",
    "best_of": "decoding.methods.pools.best_of:best_of",
    "beam": "decoding.methods.searches.beam:beam",
    "lookahead": "published.methods.lookahead:lookahead",
    "diffusion": "decoding.diffusion.written:diffusion",
    "trials": "published.methods.trials:trials",
    "contrast": "decoding.methods.blends.contrast:contrast",
    "grounded": "decoding.methods.blends.grounded:grounded",
    "anchored": "decoding.methods.blends.anchored:anchored",
    "vote": "decoding.methods.pools.vote:vote",
    "first_finish": "decoding.methods.pools.first_finish:first_finish",
    "switch": "decoding.methods.blends.switch:switch",
    "adapted": "decoding.methods.blends.adapted:adapted",
    "pool": "published.methods.pools.pool:pool",
    "planned": "decoding.methods.planned:planned",
    "best_first": "published.methods.best_first:best_first",
    "superposed": "published.methods.superposing.superposed:superposed",
}
STREAMING = (
    "masked",
    "contrast",
    "grounded",
    "anchored",
    "switch",
    "adapted",
)  # those that gl.stream takes: an answer is written once

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

# gl.Draft(drafter): those that have a name, and what is made of something of the caller's
DRAFTERS = {
    "copy": "decoding.speculative.drafters.copying:Copy",
    "suffix": "decoding.speculative.drafters.suffix:Suffix",
    "recycle": "published.drafters.recycle:Recycle",
    "trigram": "published.drafters.trigram:Trigram",
    "skeleton": "decoding.speculative.drafters.skeleton:Skeleton",
    "jacobi": "published.drafters.jacobi:Jacobi",
    "pool": "published.drafters.pool:Pool",
    "skip": "published.drafters.searched:skip",
    "exit": "published.drafters.exits:early_exit",
}
AUTO = "auto"  # those of AUTO_MEMBERS, as far as they pay
AUTO_MEMBERS = ("skeleton", "suffix", "copy")
MODEL = "decoding.speculative.drafters.model:ModelDrafter"
OTHER_VOCABULARY = "published.drafters.other_vocabulary:OtherVocabulary"  # a model whose ids mean something else
TRANSFER = "published.drafters.transfer:Transfer"  # a model that moves the target's law
OBJECTS = {
    "Blocks": "published.drafters.blocks:Blocks",
    "Cascade": "published.drafters.cascade:Cascade",
    "Datastore": "published.drafters.datastore:Datastore",
    "Features": "published.drafters.features:Features",
    "Fill": "published.drafters.fill:Fill",
    "Fused": "published.drafters.datastore:Fused",
    "Heads": "decoding.speculative.drafters.heads:Heads",
    "ModelDrafter": MODEL,
    "Nested": "published.drafters.nested:Nested",
    "OtherVocabulary": OTHER_VOCABULARY,
    "Positions": "published.drafters.positions:Positions",
    "Rows": "published.drafters.rows:Rows",
    "Strided": "published.drafters.strided:Strided",
    "hidden_transfer": "published.drafters.positions:hidden_transfer",
    "prompt_tokens": "published.drafters.positions:prompt_tokens",
    "tune_tree": "published.trees.tree_tuner:tune_tree",
}

# gl.Draft(tree=): how what may follow a node becomes nodes
TREES = {
    "chain": "decoding.speculative.shapes:chain",
    "fixed": "decoding.speculative.shapes:fixed",
    "best_first": "published.trees.best_first:best_first",
    "distinct": "published.trees.distinct:distinct",
    "beams": "published.trees.beams:beams",
}

RANKS = "published.trees.ranks:ranks"  # a tree of the caller's

# gl.Draft(acceptance=): a rule, or a class of rules; True: the law of the answers is the target's
ACCEPTANCE = {
    "exact": ("decoding.speculative.acceptance:Exact", True),
    "ratio": ("published.acceptance.ratio:RATIO", True),
    "recursive": ("published.acceptance.recursive:RECURSIVE", True),
    "kseq": ("published.acceptance.kseq:KSEQ", True),
    "typical": ("published.acceptance.typical:TYPICAL", False),
    "lenient": ("published.acceptance.lenient:Lenient", False),
    "judge": ("published.acceptance.judge:Judge", False),
    "reflective": ("published.acceptance.reflective:Reflective", False),
    "steps": ("published.acceptance.steps:Steps", False),
    "confident": ("published.acceptance.confident:Confident", False),
    "big_little": ("published.acceptance.big_little:BigLittle", False),
    "iterations": ("published.acceptance.iterations:Iterations", False),
}

# Models of transformers that are read by their state, by config.model_type
STATE_SPACES = {"mamba": "published.readers.mamba:Mamba", "mamba2": "published.readers.mamba2:Mamba2"}
STATE_SPACE_MODEL = "published.readers.state_space:StateSpaceModel"
