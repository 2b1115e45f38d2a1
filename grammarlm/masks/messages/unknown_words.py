"""Keywords and formats of a schema that nobody has defined: mostly misspelt, and then a rule that does not hold.

`gl.compile` has them in its report. Where texts are generated nobody reads a report, so each schema gets one warning there; a
server has them in its log, once a schema, too. With unknown="refuse" they are errors, as with JsonSchema's option of that name.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from grammarlm.errors import LimitExceeded, SchemaWarning, brief, shorten
from grammarlm.grammars.generated import as_generated
from grammarlm.grammars.json_schema.report import UNKNOWN, refusal_of
from grammarlm.grammars.json_schema.schema import UNKNOWN as UNKNOWN_WAYS

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.report import KeywordReport
    from grammarlm.masks.constraint import Constraint

LOOKED_AT = 50_000  # keywords of a schema; what a warning costs is bounded
NAMED = 3  # in a warning
REMEMBERED = 8_192  # schemas
NEWS = 'the schema has words that nobody has defined, which restrict nothing (unknown="refuse" makes them errors)'


@dataclass(frozen=True)
class Found:
    """The first unknown words, and whether the whole schema has been looked through."""

    lines: tuple[KeywordReport, ...] = ()
    is_whole: bool = True


_found: WeakKeyDictionary[Constraint, Found] = WeakKeyDictionary()
_told: OrderedDict[int, None] = OrderedDict()  # schemas, by the hash of their content
_lock = threading.Lock()


def check_unknown(constraint: Constraint, unknown: str) -> None:
    """Warns of the unknown words of a constraint's schemas, once a schema; "refuse": UnsupportedFeature."""
    if unknown not in UNKNOWN_WAYS:
        raise ValueError(f"unknown={brief(unknown)}; it takes {' or '.join(map(repr, UNKNOWN_WAYS))}")
    found = found_in(constraint)
    if unknown == "refuse":
        rest = () if found.is_whole else unknown_lines(lines_of(constraint))
        first = next(iter(found.lines or rest), None)
        if first is not None:
            raise refusal_of(first)
    else:
        tell(constraint, _warn)


def tell(constraint: Constraint, how: Callable[[str], None]) -> None:
    """Passes on what is to be told of a constraint's unknown words: nothing where its schema was told before."""
    lines = found_in(constraint).lines
    if not lines:
        return
    key = hash(as_generated(constraint.grammar))
    with _lock:
        if key in _told:
            return
        _told[key] = None
        while len(_told) > REMEMBERED:
            _told.popitem(last=False)
    try:
        how(news_of(lines))
    except BaseException:  # a warning that its user has made an error: it was not told
        with _lock:
            _told.pop(key, None)
        raise


def news_of(lines: Sequence[KeywordReport]) -> str:
    named = "; ".join(f"{shorten(line.pointer, 100)}: {line.note}" for line in lines[:NAMED])
    return shorten(f"{NEWS}: {named}{'; and more' if len(lines) > NAMED else ''}")


def forget() -> None:
    """Every schema is told again."""
    with _lock:
        _told.clear()


def found_in(constraint: Constraint) -> Found:
    """The constraint's unknown words, looked for once."""
    known = _found.get(constraint)
    if known is None:
        known = _found[constraint] = _look(constraint)
    return known


def _look(constraint: Constraint) -> Found:
    found: list[KeywordReport] = []
    try:
        lines = iter(lines_of(constraint))
        for line in unknown_lines(islice(lines, LOOKED_AT)):
            found.append(line)
            if len(found) > NAMED:
                return Found(tuple(found), False)
        return Found(tuple(found), next(lines, None) is None)
    except LimitExceeded:
        return Found(tuple(found), False)


def lines_of(constraint: Constraint) -> Iterable[KeywordReport]:
    keywords = constraint.report.keywords
    return () if keywords is None else keywords(once=True)


def unknown_lines(lines: Iterable[KeywordReport]) -> Iterator[KeywordReport]:
    return (line for line in lines if line.status == UNKNOWN)


def _warn(message: str) -> None:
    warnings.warn(message, SchemaWarning, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """The stack level, for the function that calls this one, of the first line that is not this package's: the user's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "grammarlm":
        frame, level = frame.f_back, level + 1
    return level
