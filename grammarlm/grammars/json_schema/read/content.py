"""The content of a schema: as a digest, as JSON text, and abbreviated; for any size and depth.

A schema is a graph: 300 dicts can have 2^300 places. A digest visits each dict once. A text has all the places, so it is bounded
for schemas with shared parts. Values without nesting are left to `marshal` and `json`, which are many times as fast.
"""

from __future__ import annotations

import hashlib
import json
import marshal
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import isfinite
from typing import Any

from grammarlm.errors import GrammarError, LimitExceeded, brief
from grammarlm.grammars.json_schema.numbers.decimals import decimal

MOST_PARTS = 4_000_000  # of a written schema that has shared parts
MOST_WRITTEN_BITS, MOST_DIGITS = 166_000, 50_000  # of a whole number
MARSHAL = 2  # the format that has no references
NESTED = (dict, list, tuple)
EXACT = frozenset([str, int, bool, type(None), list, dict])  # types that `marshal` writes in one way


def digest_of(value: Any) -> str:
    """Equal for equal values, the order of keys included; the same in any process."""
    root = [value]
    known: dict[int, list[str]] = {}  # by id of a dict or list; empty while its content is not known
    waiting: list[Any] = [root]
    while waiting:
        here = waiting[-1]
        if known.get(id(here)):
            waiting.pop()
            continue
        inner = here.values() if isinstance(here, dict) else here
        if id(here) not in known:
            known[id(here)] = []
            unknown = [below for below in inner if isinstance(below, NESTED) and id(below) not in known]
            if unknown:
                waiting += unknown
                continue
        waiting.pop()
        shown: list[Any] = [known[id(below)] if isinstance(below, NESTED) else below for below in inner]
        if isinstance(here, dict):
            shown += [key if isinstance(key, str) else {"key": brief(key)} for key in here] + [{"keys": len(here)}]
        known[id(here)] = [hashlib.blake2b(_encoded(shown), digest_size=16).hexdigest()]
    return known[id(root)][0]


def _encoded(values: list[Any]) -> bytes:
    """Flat values as bytes, in which equal numbers are equal, be they floats, decimals or fractions."""
    if not EXACT.issuperset(map(type, values)):
        values = [value if type(value) in EXACT else _exact(value) for value in values]
    return marshal.dumps(values, MARSHAL)


def _exact(item: Any) -> Any:
    """A number by its digits and its exponent; a whole number written in digits as an int."""
    if isinstance(item, (str, int)):
        return str(item) if isinstance(item, str) else int(item)
    if type(item) is float and isfinite(item) and "e" not in (text := repr(item)):
        return {"number": text}
    try:
        number = Decimal(_json(item))
    except (GrammarError, ArithmeticError):
        return {type(item).__name__: brief(item, 1_000)}
    text = str(number)
    is_whole = len(text) < MOST_DIGITS and text.removeprefix("-").isdecimal()
    return int(number) if is_whole else {"number": text}


def written(schema: Any) -> str:
    """The schema as JSON text."""
    is_tree = _is_tree(schema)
    if is_tree:
        try:
            return json.dumps(schema, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError):  # numbers that `json` does not write, no JSON, or very deep
            pass
    if not is_tree and _piece_count(schema) > MOST_PARTS:
        raise LimitExceeded(
            f"the schema has more than {MOST_PARTS:,} places when it is written out: parts of it stand in several, or in themselves"
        )
    return "".join(_pieces(schema, _strict, _key))


def shown(schema: Any, longest: int) -> str:
    """The beginning of the schema, for messages."""
    text = ""
    for piece in _pieces(schema, _short, _short, longest):
        text += piece
        if len(text) > longest:
            return text[: longest - 3] + "..."
    return text


def _is_tree(schema: Any) -> bool:
    """Does each dict and list occur in one place only, with all keys strings?"""
    seen, waiting = {id(schema)}, [schema] if isinstance(schema, NESTED) else []
    for here in waiting:  # grows during the loop
        if isinstance(here, dict) and set(map(type, here)) - {str}:
            return False
        below = [value for value in (here.values() if isinstance(here, dict) else here) if isinstance(value, NESTED)]
        known = len(seen)
        seen.update(map(id, below))
        if len(seen) < known + len(below):
            return False
        waiting += below
    return True


def _piece_count(schema: Any) -> int:
    """How many pieces the text has, or one more than may be, where a part stands in itself. Looks at each dict and list once."""
    counts: dict[int, int] = {}
    waiting: list[Any] = [schema] if isinstance(schema, NESTED) else []
    while waiting:
        here = waiting[-1]
        nested = [below for below in (here.values() if isinstance(here, dict) else here) if isinstance(below, NESTED)]
        if id(here) not in counts:
            counts[id(here)] = MOST_PARTS + 1  # while parts of it are counted
            waiting += [below for below in nested if id(below) not in counts]
        else:
            waiting.pop()
            own = 2 * max(len(here), 1) + 1 - len(nested)
            counts[id(here)] = min(own + sum([counts[id(below)] for below in nested]), MOST_PARTS + 1)
    return counts.get(id(schema), 1)


class _Raw(str):
    __slots__ = ()


def _pieces(
    schema: Any, scalar: Callable[[Any], str], key: Callable[[Any], str], most: int | None = None
) -> Iterator[str]:
    """The text, piece by piece; of each dict and list the first `most`."""
    todo: list[Any] = [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, _Raw):
            yield item
        elif isinstance(item, dict):
            inner: list[Any] = []
            for name, value in islice(item.items(), most):
                inner += [_Raw(("," if inner else "{") + key(name) + ":"), value]
            todo += reversed([*(inner or [_Raw("{")]), _Raw("}")])
        elif isinstance(item, (list, tuple)):
            inner = []
            for value in islice(item, most):
                inner += [_Raw("," if inner else "["), value]
            todo += reversed([*(inner or [_Raw("[")]), _Raw("]")])
        else:
            yield scalar(item)


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise GrammarError(f"the schema has a key that no JSON has: {brief(name)}")
    return json.dumps(str(name))


def _strict(item: Any) -> str:
    if not (item.is_finite() if isinstance(item, Decimal) else not isinstance(item, float) or isfinite(item)):
        raise GrammarError(f"the schema has a value that no JSON has: {brief(item)}")
    return _json(item)


def _short(item: Any) -> str:
    if isinstance(item, str):
        return json.dumps(item[:200])
    return json.dumps(item) if item is None or isinstance(item, bool) else brief(item, 200)


def _json(item: Any) -> str:
    """A scalar as JSON text."""
    if isinstance(item, Fraction):
        mantissa, power = decimal(item)
        return f"{_json(mantissa)}e{power}"
    if isinstance(item, Decimal):
        return str(item)
    try:
        return json.dumps(item)
    except ValueError:
        if item.bit_length() > MOST_WRITTEN_BITS:
            raise LimitExceeded(
                "the schema has a whole number of more than 50,000 digits, which is not written out"
            ) from None
        return _long(item)
    except TypeError:
        raise GrammarError(f"the schema has a value that no JSON has: {brief(item)}") from None


def _long(item: int) -> str:
    """A whole number of more digits than Python's str() writes. Conversion to decimal is quadratic in their number."""
    return str(Decimal(item)) if item.bit_length() <= MOST_WRITTEN_BITS else f"{item:#x}"
