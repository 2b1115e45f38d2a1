"""Where drafts come from: one mechanism a file, the core's here, others in `grammarlm.published.drafters`.

Those that need nothing of yours have a name in `gl.Draft.DRAFTERS`. The others are made here and passed to `gl.Draft`:

    from grammarlm.decoding.speculative import drafters

    heads, _ = gl.load_tiny(heads=True)
    gl.Draft(drafters.Heads(heads), tree="fixed")
"""

from typing import Any

from grammarlm.decoding.systems import OBJECTS, system


def __getattr__(name: str) -> Any:
    if name not in OBJECTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return system(OBJECTS[name])


def __dir__() -> list[str]:
    return sorted(OBJECTS)
