"""Grammars as JSON and back, without pickle: a description is its kind's name and its fields, in one flat list of values.

    null, true, 17, 1.5, "text"     itself
    {"bytes": "oIE="}               bytes, in base64
    {"tuple": 2}                    a tuple: so many of the values that follow
    {"grammar": "Regex"}            a grammar or a part of one: its kind's name; its fields follow in their order

Only the kinds of the registry and INNER are read, and only with fields of the types that their classes declare.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.grammars import compose, registry
from grammarlm.grammars.cfg.indent import Indent

from .sealed import as_json, bytes_as_text, text_as_bytes, unreadable

DEEPEST = 2_000  # nested tuples and grammars
LARGEST = 1 << 28  # bytes

Kind = type[compose.Grammar] | type[Indent]
# Besides the kinds of the registry: those that the operators between grammars make.
INNER: dict[str, Kind] = {
    c.__name__: c for c in (compose.Literal, compose.Sequence, compose.Choice, compose.Intersection, compose.Difference)
}
INNER["Indent"] = Indent  # part of a grammar


@functools.cache
def kind_of(name: str) -> Kind | None:
    """The class of grammars, or of their parts, with this name; None where this version knows none."""
    if name in INNER:
        return INNER[name]
    return registry.class_of(name) if name in registry.KINDS else None


def fields_of(kind: Kind) -> dict[str, object]:
    """The names of a kind's fields, and their types."""
    return _fields(kind.__name__)


@functools.cache
def _fields(name: str) -> dict[str, object]:
    kind: Any = kind_of(name)
    if hasattr(kind, "SAVED"):
        return dict(kind.SAVED)
    hints = typing.get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


def encode(value: object, *, is_brief: bool = False) -> bytes:
    """JSON of a grammar, or of plain values. Brief text identifies a grammar, but cannot be read."""
    flat: list[object] = []
    stack = [(value, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > DEEPEST:
            raise _too_large()
        inner: list[object] = []
        if isinstance(value, tuple):
            flat.append({"tuple": len(value)})
            if set(map(type, value)) == {str}:  # perhaps millions
                flat += value
            else:
                inner = list(value)
        elif isinstance(value, (compose.Grammar, Indent)):
            name = type(value).__name__
            if kind_of(name) is not type(value):
                raise UnsupportedFeature(
                    f"grammars of the kind {name} cannot be saved: they are none of grammarlm's own"
                )
            flat.append({"grammar": name})
            if is_brief and hasattr(value, "digest"):  # perhaps millions of items
                flat.append({"bytes": bytes_as_text(value.digest)})
                continue
            saved = getattr(value, "saved", None)
            inner = saved() if saved else [getattr(value, field) for field in fields_of(type(value))]
        elif isinstance(value, bytes):
            flat.append({"bytes": bytes_as_text(value)})
        elif value is None or isinstance(value, (bool, int, float, str)):
            flat.append(value)
        else:
            raise UnsupportedFeature(f"a grammar with a {type(value).__name__} in it cannot be saved")
        stack += [(v, depth + 1) for v in reversed(inner)]
    text = as_json(flat)
    if len(text) > LARGEST and not is_brief:
        raise _too_large()
    return text


def _too_large() -> LimitExceeded:
    return LimitExceeded(f"the grammar is nested deeper than {DEEPEST} levels, or larger than {LARGEST:,} bytes")


class _Open:
    """A tuple or a grammar that is being read."""

    def __init__(self, kind: Kind | None, count: int):
        self.kind, self.count, self.values = kind, count, list[object]()


def decode(flat: object, what: str) -> object:
    """The value that a list of values stands for; GrammarError where it is none."""
    whole = _Open(None, 1)
    opened = [whole]
    for each in flat if isinstance(flat, list) else ():
        if whole.values:
            raise unreadable(what, "something follows its end")
        value = _marked(each, what) if isinstance(each, (dict, list)) else each
        if isinstance(value, _Open):
            if len(opened) > DEEPEST:
                raise unreadable(what, f"it is nested deeper than {DEEPEST} levels")
            opened.append(value)
        else:
            opened[-1].values.append(value)
        while len(opened) > 1 and len(opened[-1].values) == opened[-1].count:
            done = _close(opened.pop(), what)
            opened[-1].values.append(done)
    if not whole.values:
        raise unreadable(what, "it ends too early")
    return whole.values[0]


def _marked(each: object, what: str) -> object:
    """Bytes, or the beginning of a tuple or a grammar."""
    match each:
        case {"bytes": str(text), **more} if not more:
            try:
                return text_as_bytes(text)
            except ValueError as error:
                raise unreadable(what, str(error)) from None
        case {"tuple": int(count), **more} if not more:
            return _Open(None, count)
        case {"grammar": str(name), **more} if not more:
            kind = kind_of(name)
            if kind is None:
                raise unreadable(what, f"this grammarlm knows no grammars of the kind {name!r:.40}")
            return _Open(kind, len(fields_of(kind)))
    raise unreadable(what, f"{each!r:.40} begins no value")


def _close(done: _Open, what: str) -> object:
    if done.kind is None:
        return tuple(done.values)
    fields: dict[str, Any] = dict(zip(fields_of(done.kind), done.values, strict=True))
    for field, hint in fields_of(done.kind).items():
        if not _fits(fields[field], hint):
            raise unreadable(what, f"{done.kind.__name__}.{field} is no {hint}")
    if issubclass(done.kind, compose.Combination) and len(fields["parts"]) < 2:
        raise unreadable(what, "a combination has fewer than two parts")
    try:
        make: Any = getattr(done.kind, "from_saved", done.kind)
        return make(**fields)
    except (TypeError, ValueError) as error:
        raise unreadable(what, f"{done.kind.__name__}: {error}") from error


def _fits(value: object, hint: Any) -> bool:
    """Is the value of the type that a field declares?"""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, a) for a in arguments)
    if origin is typing.Literal:
        return any(value == a and type(value) is type(a) for a in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1] is Ellipsis:
            return all(_fits(v, arguments[0]) for v in value)
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    if hint is Any:
        return True
    return type(value) is hint or (isinstance(value, compose.Grammar) and isinstance(value, hint))
