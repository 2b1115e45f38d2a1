"""Where drafts come from: one mechanism a file.

Those that need nothing of yours have a name in `gl.Draft.DRAFTERS`. The others are made here and passed to `gl.Draft`:

    from grammarlm.decoding.speculative import drafters

    heads, _ = gl.load_tiny(heads=True)
    gl.Draft(drafters.Heads(heads), tree="fixed")
"""

from importlib import import_module
from typing import Any

HOMES = {
    "Blocks": "blocks",
    "Cascade": "cascade",
    "Datastore": "datastore",
    "Features": "features",
    "Fill": "blocks",
    "Heads": "heads",
    "ModelDrafter": "model",
    "Nested": "cascade",
    "OtherVocabulary": "other_vocabulary",
    "Rows": "rows",
    "Strided": "strided",
    "hidden_transfer": "rows",
    "prompt_tokens": "rows",
    "tune_tree": "tree_tuner",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(HOMES)
