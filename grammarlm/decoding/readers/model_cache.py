"""The key-value cache of a transformers model's forward: the name that it is passed in by, and what comes back.

    name = cache_name(taken_by(model))                      # "cache"; None: its forward takes none
    output = model(input_ids=ids, **{name: cache}, use_cache=True)
    cache = returned_cache(output)

The name is the model's: transformers calls it `cache` from 5.24 on, before that `past_key_values`, and in Mamba and its relatives
`cache_params`; a model with code of its own may keep an older name. What comes back is named by the release, not by the model.

Where there is none, all texts are read again for each token. That is refused where a cache was asked for, and else said once.
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Mapping
from functools import cache as remembered
from typing import Any

from grammarlm.errors import UnsupportedFeature
from grammarlm.notices import warn

NAMES = ("past_key_values", "cache", "cache_params")
ASKED = ("dynamic", "static")  # of `cache=`: whoever says so wants one


def taken_by(model: Any) -> Mapping[str, inspect.Parameter]:
    """The arguments of its forward."""
    return inspect.signature(model.forward).parameters


def cache_name(taken: Container[str]) -> str | None:
    """The one of these arguments that takes a cache; None where there is none."""
    return next((name for name in NAMES if name in taken), None)


def returned_cache(output: Any) -> Any | None:
    """The cache that a forward has returned."""
    held = vars(output)  # no properties: older names are that, in newer releases, and warn
    return next((held[name] for name in NAMES if held.get(name) is not None), None)


def grows(cache: Any) -> bool:
    """Can this cache be passed back in with the next token?

    A model without attention may have none. A cache of fixed length that the model made by itself, such as Gemma 2's in
    transformers 4.45, is as long as the prompt and would silently drop what comes after it; a static one made here is long enough.
    """
    kinds = {kind.__name__ for kind in type(cache).__mro__}
    return hasattr(cache, "reorder_cache") and ("StaticCache" in kinds or any("Dynamic" in kind for kind in kinds))


def why_not(cache: Any) -> str:
    """Why what a forward has returned is no cache to go on with."""
    if cache is None:
        return "its forward returns none"
    return f"the {type(cache).__name__} that its forward returns does not grow with a text"


def go_without(model: Any, asked: str | None, why: str) -> None:
    """All texts are read again for each token: UnsupportedFeature where a cache is asked for, else a warning, once."""
    kind = type(model).__name__
    if asked in ASKED:
        raise UnsupportedFeature(f"cache={asked!r}: {kind} has no such cache ({why}); leave cache= out")
    if asked is None:
        warn_once(
            f"{kind} has no key-value cache ({why}): the whole text is read again for each token, which is slow; "
            "cache='off' says that it may be"
        )


@remembered
def warn_once(message: str) -> None:
    warn("grammarlm.decoding", message)
