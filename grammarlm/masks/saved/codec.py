"""Grammars as bytes and back, without pickle: a description is its kind's name and its fields.

    value = N | T | F                                       None, True, False
          | i number | n number                             0, 1, 2, ...; -1, -2, ...
          | d 8 bytes                                       a float
          | s length bytes | b length bytes                 a string in UTF-8, bytes
          | ( count value ...                               a tuple
          | G length name value ...                         a grammar or a part of one: its kind's name, its fields in
                                                            their order

Only the kinds of the registry and INNER are read, and only with fields of the types that their classes declare.
"""

from __future__ import annotations

import dataclasses
import functools
import struct
import types
import typing
from typing import Any

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.grammars import compose, registry
from grammarlm.grammars.cfg.indent import Indent

from .sealed import SealedReader, number

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
    """Bytes of a grammar, or of plain values. Brief ones identify a grammar, but cannot be read."""
    out = bytearray()
    stack = [(value, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > DEEPEST or (len(out) > LARGEST and not is_brief):
            raise LimitExceeded(f"the grammar is nested deeper than {DEEPEST} levels, or larger than {LARGEST:,} bytes")
        inner: list[object] = []
        if isinstance(value, tuple):
            out += b"(" + number(len(value))
            if set(map(type, value)) == {str}:  # perhaps millions
                out += b"".join(map(_scalar, value))
            else:
                inner = list(value)
        elif isinstance(value, (compose.Grammar, Indent)):
            name = type(value).__name__
            if kind_of(name) is not type(value):
                raise UnsupportedFeature(
                    f"grammars of the kind {name} cannot be saved: they are none of grammarlm's own"
                )
            out += b"G" + _string(name.encode())
            if is_brief and hasattr(value, "digest"):  # perhaps millions of items
                out += b"b" + _string(value.digest)
                continue
            saved = getattr(value, "saved", None)
            inner = saved() if saved else [getattr(value, field) for field in fields_of(type(value))]
        else:
            out += _scalar(value)
        stack += [(v, depth + 1) for v in reversed(inner)]
    return bytes(out)


def _scalar(value: object) -> bytes:
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, int):
        return b"i" + number(value) if value >= 0 else b"n" + number(-1 - value)
    if isinstance(value, float):
        return b"d" + struct.pack("<d", value)
    if isinstance(value, str):
        return b"s" + _string(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return b"b" + _string(value)
    raise UnsupportedFeature(f"a grammar with a {type(value).__name__} in it cannot be saved")


def _string(data: bytes) -> bytes:
    return number(len(data)) + data


class _Open:
    """A tuple or a grammar that is being read."""

    def __init__(self, kind: Kind | None, count: int):
        self.kind, self.count, self.values = kind, count, list[object]()


def decode(reader: SealedReader) -> object:
    """The decoded value; GrammarError where the content is not one."""
    opened: list[_Open] = []
    while True:
        value = _read(reader)
        if isinstance(value, _Open):
            if len(opened) == DEEPEST:
                raise reader.error(f"it is nested deeper than {DEEPEST} levels")
            opened.append(value)
        elif opened:
            opened[-1].values.append(value)
        while opened and len(opened[-1].values) == opened[-1].count:
            value = _close(opened.pop(), reader)
            if opened:
                opened[-1].values.append(value)
        if not opened:
            break
    if reader.left:
        raise reader.error("something follows its end")
    return value


def _read(reader: SealedReader) -> object:
    """A value, or the beginning of one."""
    tag = reader.take(1)
    if tag in _CONSTANTS:
        return _CONSTANTS[tag]
    if tag == b"i":
        return reader.number()
    if tag == b"n":
        return -1 - reader.number()
    if tag == b"d":
        return struct.unpack("<d", reader.take(8))[0]
    if tag == b"b":
        return reader.string()
    if tag == b"s":
        return _text(reader)
    if tag == b"(":
        count = reader.number()
        if count > reader.left:
            raise reader.error("a tuple has more items than there are bytes")
        return _Open(None, count)
    if tag == b"G":
        name = _text(reader)
        kind = kind_of(name)
        if kind is None:
            raise reader.error(f"this grammarlm knows no grammars of the kind {name!r:.40}")
        return _Open(kind, len(fields_of(kind)))
    raise reader.error(f"{tag!r} begins no value")


_CONSTANTS = {b"N": None, b"T": True, b"F": False}


def _text(reader: SealedReader) -> str:
    try:
        return reader.string().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise reader.error("a string is not UTF-8") from None


def _close(done: _Open, reader: SealedReader) -> object:
    if done.kind is None:
        return tuple(done.values)
    fields: dict[str, Any] = dict(zip(fields_of(done.kind), done.values, strict=True))
    for field, hint in fields_of(done.kind).items():
        if not _fits(fields[field], hint):
            raise reader.error(f"{done.kind.__name__}.{field} is no {hint}")
    if issubclass(done.kind, compose.Combination) and len(fields["parts"]) < 2:
        raise reader.error("a combination has fewer than two parts")
    try:
        make: Any = getattr(done.kind, "from_saved", done.kind)
        return make(**fields)
    except (TypeError, ValueError) as error:
        raise reader.error(f"{done.kind.__name__}: {error}") from error


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
