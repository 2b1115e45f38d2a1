"""Does an engine still have the functions that we wrap or override? Asked at start.

A function that a later version calls in another way, or does not call any more, would leave requests without their grammar, and
nobody would see it. So a version that differs is refused by name; one that is unknown and does not differ gets a line on stderr.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from grammarlm.errors import shorten
from grammarlm.notices import warn

Expected = Mapping[str, str]  # "module:Class.function" to the names of its parameters, with blanks between


def check_functions(engine: str, version: str, tested: Sequence[str], expected: Expected, instead: str) -> None:
    """RuntimeError where something differs, which says what, and what to do instead."""
    different = differences(expected)
    if different:
        more = f" (and {len(different) - 1} more)" if len(different) > 1 else ""
        known = " and ".join(tested)
        raise RuntimeError(
            shorten(f"grammarlm is tested with {engine} {known}; in {version} {different[0]}{more}. {instead}")
        )


def warn_of_version(engine: str, version: str, tested: Sequence[str]) -> None:
    """A line, once, where the version is none of those tested."""
    if not any(version == each or version.startswith(f"{each}.") for each in tested):
        known = " and ".join(tested)
        warn_once(
            f"this is {engine} {version}, and grammarlm is tested with {known}; the functions that it wraps are the same here"
        )


@cache
def warn_once(message: str) -> None:
    warn("grammarlm.serving", message)


def differences(expected: Expected) -> list[str]:
    """What is not as expected, each in a sentence without its end."""
    return [found for place, names in expected.items() if (found := difference(place, names.split()))]


def difference(place: str, names: list[str]) -> str:
    module, _, path = place.partition(":")
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        taken = list(inspect.signature(getattr(found, "__func__", found)).parameters)
    except (ImportError, AttributeError, TypeError, ValueError):  # the last two: it is no function of Python's
        return f"there is no function {place}"
    if taken == names:
        return ""
    return f"{place} takes ({', '.join(taken)}), and not ({', '.join(names)})"
