"""The methods that write from left to right: all but diffusion, which fills rows and has tests of its own."""

import math
from typing import Any

from grammarlm.decoding.systems import METHODS

# "anchored" takes no where=, "superposed" no bare callables; the draft of "planned" knows nothing of what the answer is held to
OTHERS = ("diffusion", "anchored", "superposed", "planned")
LEFT_TO_RIGHT = tuple(name for name in METHODS if name not in OTHERS)


def needed(method: str) -> dict[str, Any]:
    """The options that a method cannot do without, for vocabularies that have the ids 0 to 2."""
    return {
        "contrast": {"against": [2]},
        "grounded": {"description": [2, 0]},
        "switch": {"large": [2], "above": math.inf},
        "adapted": {"step": lambda model, logits, texts: False},
    }.get(method, {})
