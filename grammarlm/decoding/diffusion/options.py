"""The options of samplers and drivers, checked before anything is made: each by the type that its function gives it."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from types import NoneType
from typing import Any, get_args, get_type_hints

from grammarlm.decoding.arguments import check_integer, check_number, check_text

LEAST = {"w": 0, "buffer": 0, "count": 0, "least": 0}  # all other integers are 1 or more
BOUNDS = {"alpha": 1e6, "beta": 1.0, "gamma": math.inf}  # of numbers that are 0 or more; others may be any
MOST = (1 << 31) - 1  # of integers: beyond every row, and what arrays can be compared with


def names_of(function: Callable[..., Any]) -> set[str]:
    return {name for name, one in signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}


def checked_options(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """The options of a registered sampler or driver; TypeError or ValueError that names the one that it cannot take."""
    hints = get_type_hints(function)
    return {name: checked(name, value, hints[name]) for name, value in given.items()}


def checked(name: str, value: Any, hint: Any) -> Any:
    kinds = get_args(hint) if NoneType in get_args(hint) else (hint,)
    if value is None and NoneType in kinds:
        return None
    if float in kinds:
        if name in BOUNDS:
            check_number(name, value, lambda number: 0 <= number <= BOUNDS[name], f"from 0 to {BOUNDS[name]:g}")
        else:
            check_number(name, value, lambda number: not math.isnan(number), "not NaN")
        return float(value)
    if int in kinds:
        check_integer(name, value, LEAST.get(name, 1), MOST)
        return int(value)
    if str in kinds:
        check_named_text(name, value)
        return value
    return LISTS[name](name, value) if name in LISTS else checked_function(name, value)


def check_named_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r:.60}; it takes a text")
    check_text(value, name)


def checked_function(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} is {value!r:.60}; it takes a function")
    return value


def items_of(name: str, value: Any, accepted: str, least: int = 0) -> list[Any]:
    if not isinstance(value, (list, tuple)) or len(value) < least:
        raise TypeError(f"{name} is {value!r:.60}; it takes {accepted}")
    return list(value)


def texts(name: str, value: Any) -> list[str]:
    found = list(value) if isinstance(value, str) else items_of(name, value, "a list of texts")
    for one in found:
        check_named_text(name, one)
    return found


def thresholds(name: str, value: Any) -> list[float]:
    return [checked(name, one, float) for one in items_of(name, value, "a list of numbers, one or more", 1)]


def ranges(name: str, value: Any) -> list[tuple[int, int]]:
    accepted, found = "a list of pairs of positions, (first, end)", []
    for one in items_of(name, value, accepted):
        pair = items_of(name, one, accepted, 2)
        for position in pair:
            check_integer(name, position, 0, MOST)
        found.append((int(pair[0]), int(pair[1])))
    return found


LISTS: dict[str, Callable[[str, Any], Any]] = {"delimiters": texts, "gaps": thresholds, "regions": ranges}
