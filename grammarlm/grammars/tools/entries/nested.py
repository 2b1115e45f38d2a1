"""Objects and arrays inside the values of entries that are no JSON: in the notation of the entries, or as Python writes them.

    {flag:true,tags:[<|"|>x<|"|>]}        Gemma's
    {'flag': True, 'tags': ['x']}         Python's, where a template writes a value by str()

They are made from the normal form of a schema, since they have no machine of their own: each object and array of the schema is a
piece of the grammar, so a schema that refers to itself is refused by name; values about which a schema says nothing are cfg.
Strings have marks around them, which are not in them. Python's are as repr() writes them; where a pattern or a format holds them,
those that it writes without escapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg import rules as cfg
from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.json_schema.shapes import shapes
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.repeat import Repeat
from grammarlm.grammars.text import Ban
from grammarlm.grammars.tools.texts import closed_by, end_mark, first_letters, joined, one_of, other_keys
from grammarlm.grammars.tools.tool_format import Entries, Nested

from .orders import MOST_IN_ANY_ORDER, any_order, in_order
from .raw_strings import RawStrings

NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
# What Python's repr of a string is made of: letters that are printed (beyond Latin-1 all are taken to be) and escapes.
NOT_PRINTED = r"\x00-\x1f\x7f-\xa0\xad"
PRINTED = rf"[^\\{NOT_PRINTED}"  # goes on with a quote and ]
ESCAPES = r"\\[nrt\\]|\\x(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f]|a0|ad)"
QUOTES = r"(?s:.*\\'.*)", r'(?s:.*".*)'
PYTHON_WORDS = (("null", "None"), ("true", "True"), ("false", "False"))


@dataclass(frozen=True)
class Notation:
    object: tuple[str, str]
    array: tuple[str, str]
    entry: tuple[str, str, str]
    gap: str
    strings: tuple[str, str] | None  # the marks; None: as Python writes strings
    words: tuple[tuple[str, str], ...] = ()  # null, true and false, where they are other words
    is_sorted: bool = False
    nulls: bool = True
    is_any_order: bool = False  # may entries come in any order?
    blanks: str = ""  # a pattern of the white space that may stand between all these
    excludes: tuple[str, ...] = ()  # what strings and undeclared keys do not contain

    def word(self, text: str) -> str:
        return dict(self.words).get(text, text)

    @property
    def closed_by(self) -> frozenset[str]:
        """The letters that no key begins with."""
        return frozenset(closed_by(self.entry[0], self.object[1]))

    @property
    def key_ends(self) -> frozenset[str]:
        return first_letters(self.entry[1])


PYTHON = Notation(("{", "}"), ("[", "]"), ("'", "': ", ""), ", ", None, PYTHON_WORDS)


def notation_of(entries: Entries, kind: str) -> Notation | None:
    """How objects or arrays are written; None for JSON, or where that is not built."""
    if kind in entries.python:
        return PYTHON
    inner = entries.values
    if not isinstance(inner, Nested) or not isinstance(entries.strings, tuple) or entries.marked is not None:
        return None
    if inner.item is not None or entries.other not in (None, entries.entry[1]) or entries.escapes:
        return None
    kinds = {"null": "null", "true": "boolean", "false": "boolean"}
    words = tuple((name, text) for name, text in PYTHON_WORDS if kinds[name] in entries.python)
    return Notation(
        inner.object,
        inner.array,
        entries.entry,
        entries.gap,
        entries.strings,
        words,
        entries.keys == "sorted",
        entries.nulls,
    )


class NestedWriter:
    """The grammar of values in a notation. `where`: the place of the value, for messages."""

    def __init__(self, notation: Notation, specials: Specials, where: str):
        self.notation, self.specials, self.where = notation, specials, where
        self._open: list[int] = []  # ids of the shapes that are being written

    def values(self, alternatives: tuple[shapes.Shape, ...]) -> Grammar:
        strings = tuple(shape for shape in alternatives if isinstance(shape, shapes.StringShape))
        words = [self.notation.word(shape.text) for shape in alternatives if isinstance(shape, shapes.Literal)]
        ways: list[Grammar] = [self._strings(strings)] if strings else []
        ways += [Choices(words)] if words else []
        for shape in alternatives:
            if isinstance(shape, shapes.NumberShape):
                ways.append(JsonSchema(self._number(shape), whitespace="compact"))
            elif isinstance(shape, (shapes.ObjectShape, shapes.ArrayShape)):
                ways.append(self.container(shape))
        return one_of(ways)

    def container(self, shape: shapes.ObjectShape | shapes.ArrayShape) -> Grammar:
        if id(shape) in self._open:
            raise self._refused("a schema that refers to itself")
        self._open.append(id(shape))
        is_object = isinstance(shape, shapes.ObjectShape)
        around = self.notation.object if is_object else self.notation.array
        inner = self._object(shape) if isinstance(shape, shapes.ObjectShape) else self._array(shape)
        self._open.pop()
        return joined(self.specials.grammar(around[0]), inner, self._blanks, self.specials.grammar(around[1]))

    @property
    def _blanks(self) -> Grammar:
        return Regex(self.notation.blanks) if self.notation.blanks else Literal("")

    @property
    def _gap(self) -> Grammar:
        return joined(self._blanks, self.specials.grammar(self.notation.gap))

    def _free(self, start: str) -> Grammar:
        return Free(self.notation, self.specials, start)

    def _strings(self, strings: tuple[shapes.StringShape, ...]) -> Grammar:
        marks = self.notation.strings
        if marks is None:
            return one_of([way for shape in strings for way in python_strings(shape)])
        left, right = map(self.specials.grammar, marks)
        return joined(left, RawStrings(strings) & Ban([end_mark(marks[1]), *self.notation.excludes]), right)

    def _object(self, shape: shapes.ObjectShape) -> Grammar:
        form, required = self.notation, len(shape.required)
        is_any = shape.others == () or [part for part, _ in shape.others] == [shapes.EVERY_STRING]
        if shape.implied or shape.obligations or not is_any or shape.minimum > required or shape.maximum is not None:
            raise self._refused("an object with numbers, patterns or dependencies of keys")
        if shape.others and shape.others[0][1].is_anything and not shape.properties:
            return self._free("entries")
        names = sorted(shape.properties, key=str.lower) if self.notation.is_sorted else list(shape.properties)
        items = []
        for name in names:
            node = shape.properties[name]
            alternatives = tuple(
                s for s in self._alternatives(node) if self.notation.nulls or s != shapes.Literal("null")
            )
            must = name in shape.required and len(alternatives) == len(self._alternatives(node))
            if alternatives:
                items.append((self._entry(Literal(name), name, alternatives), must))
        others = None
        if shape.others:
            ends = form.key_ends | ({"\\"} if form.strings is None else set())
            key = other_keys(ends, shape.properties, form.entry[0], form.object[1])
            key = key if form.strings is not None else key & Regex(f"{PRINTED}']*")
            key = key & Ban(list(form.excludes)) if form.excludes else key
            others = self._entry(key, "", self._alternatives(shape.others[0][1]))
        if not form.is_any_order or len(items) < 2:
            return in_order(items, others, self._gap)
        if len(items) > MOST_IN_ANY_ORDER:
            raise self._refused(f"any order of more than {MOST_IN_ANY_ORDER} keys")
        return any_order(items, others, self._gap)

    def _entry(self, key: Grammar, name: str, alternatives: tuple[shapes.Shape, ...]) -> Grammar:
        is_escaped = self.notation.strings is None and "\\" in name
        ends = self.notation.key_ends & set(name) or self.notation.closed_by & set(name[:1])
        if ends or not name.isprintable() or is_escaped:
            raise self._refused(f"the key {name!r:.80}")
        before, between, after = map(self.specials.grammar, self.notation.entry)
        blanks = self._blanks
        return joined(blanks, before, key, blanks, between, blanks, self.values(alternatives), after)

    def _array(self, shape: shapes.ArrayShape) -> Grammar:
        ways = shape.rest
        if shape.prefix or shape.contains or shape.unique or len(ways) > 1:
            raise self._refused("an array with items by position, or that must differ or be contained")
        if not ways:
            return Literal("")
        if ways[0].node.is_anything and not shape.minimum and shape.maximum is None:
            return self._free("items")
        item = joined(self._blanks, self.values(self._alternatives(ways[0].node)))
        return Repeat(item, shape.minimum, shape.maximum, self._gap)

    def _alternatives(self, node: shapes.Node) -> tuple[shapes.Shape, ...]:
        return ANY_VALUE if node.is_anything else node.alternatives

    def _number(self, shape: shapes.NumberShape) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "integer" if shape.integer else "number"}
        for bound, is_open, name in ((shape.low, shape.low_open, "inimum"), (shape.high, shape.high_open, "aximum")):
            if bound is not None:
                found[f"exclusiveM{name}" if is_open else f"m{name}"] = self._exact(bound)
        found["allOf"] = [{"multipleOf": self._exact(step)} for step in shape.multiples]
        found["allOf"] += [{"not": {"multipleOf": self._exact(step)}} for step in shape.not_multiples]
        found["allOf"] += [{"not": {"type": "integer"}}] if shape.fractional else []
        return found if found["allOf"] else {name: value for name, value in found.items() if name != "allOf"}

    def _exact(self, value: Fraction) -> int | Decimal:
        if value.denominator == 1:
            return value.numerator
        found = Decimal(value.numerator) / Decimal(value.denominator)
        if Fraction(found) != value:
            raise self._refused(f"the number {value}")
        return found

    def _refused(self, what: str) -> UnsupportedFeature:
        return UnsupportedFeature(
            f"{self.where}: this value is written in a notation of its own, in which {what} is not built"
        )


def python_strings(shape: shapes.StringShape) -> list[Grammar]:
    """The strings as Python writes them, in the quotes that it takes."""
    if shape.values is not None:
        return [Choices([repr(value) for value in shape.values])]
    if shape.language:
        raw = RawStrings((shape,))
        single, double = Regex(f"{PRINTED}']*"), Regex(f'{PRINTED}"]*\'{PRINTED}"]*')
        return [joined(Literal("'"), raw & single, Literal("'")), joined(Literal('"'), raw & double, Literal('"'))]
    times = f"{{{shape.minimum},{'' if shape.maximum is None else shape.maximum}}}"
    single, both = Regex(f"'(?:{PRINTED}']|{ESCAPES}){times}'"), Regex(f"'(?:{PRINTED}']|{ESCAPES}|\\\\'){times}'")
    double = Regex(f'"(?:{PRINTED}"]|{ESCAPES}){times}"')
    return [single, both & Regex(QUOTES[0]) & Regex(QUOTES[1]), double & Regex("(?s:.*'.*)")]


def without(texts: Sequence[str]) -> str:
    """A look-ahead: none of these texts begins here. With it before each character a pattern has none of them."""
    return f"(?!{'|'.join(map(re.escape, texts))})" if texts else ""


@dataclass(frozen=True)
class Free(Grammar):
    """Entries of any object, or items of any array."""

    notation: Notation
    specials: Specials
    start: str

    def rules(self, tick: Callable[[], None]) -> cfg.Rules:
        form, text, blanks = self.notation, self._text, self._blanks
        call = {name: cfg.Call(name, 0) for name in ("value", "entries", "items", "entry")}
        first, further = (
            "".join(f"\\u{ord(letter):04x}" for letter in letters | {"\\"})
            for letters in (form.key_ends | form.closed_by, form.key_ends)
        )
        never = NOT_PRINTED if form.strings is None else ""
        no = without(form.excludes)
        key = cfg.Pattern(f"(?:{no}[^{first}{never}](?:{no}[^{further}{never}])*)?", 0)
        bodies: dict[str, cfg.Node] = {
            "value": cfg.Alternatives(
                (
                    *self._strings(),
                    cfg.Pattern(NUMBER, 0),
                    *(text(form.word(word)) for word in ("null", "true", "false")),
                    cfg.Sequence((text(form.object[0]), call["entries"], blanks, text(form.object[1]))),
                    cfg.Sequence((text(form.array[0]), call["items"], blanks, text(form.array[1]))),
                )
            ),
            "entry": cfg.Sequence(
                (text(form.entry[0]), key, blanks, text(form.entry[1]), blanks, call["value"], text(form.entry[2]))
            ),
            "entries": self._listed(cfg.Sequence((blanks, call["entry"]))),
            "items": self._listed(cfg.Sequence((blanks, call["value"]))),
        }
        return cfg.Rules(self.start, bodies)

    @property
    def _blanks(self) -> cfg.Node:
        return cfg.Pattern(self.notation.blanks, 0) if self.notation.blanks else cfg.Sequence(())

    def _listed(self, one: cfg.Node) -> cfg.Node:
        further = cfg.Repeat(cfg.Sequence((self._blanks, self._text(self.notation.gap), one)), 0, None)
        return cfg.Alternatives((cfg.Sequence(()), cfg.Sequence((one, further))))

    def _strings(self) -> list[cfg.Node]:
        marks = self.notation.strings
        if marks is None:
            unit, other = f"(?:{PRINTED}'\"]|{ESCAPES})", f"(?:{PRINTED}'\"]|{ESCAPES}|')"
            both = rf"(?:{PRINTED}']|{ESCAPES}|\\')*"
            with_both = f"{both}(?:\"{both}\\\\'|\\\\'{both}\"){both}"
            return [cfg.Pattern(f"'(?:{unit}|\")*'|'{with_both}'|\"{unit}*'{other}*\"", 0)]
        inner = cfg.Pattern(f"(?s:(?:{without([end_mark(marks[1]), *self.notation.excludes])}.)*)", 0)
        return [cfg.Sequence((self._text(marks[0]), inner, self._text(marks[1])))]

    def _text(self, text: str) -> cfg.Node:
        return cfg_text(text, self.specials)


def cfg_text(text: str, specials: Specials) -> cfg.Node:
    """The text, in which names of special tokens mean the tokens."""
    parts = [cfg.Token(p.name, 0) if isinstance(p, Token) else cfg.Text(p.encode()) for p in specials.split(text)]
    return cfg.Sequence(tuple(parts))


ANY_VALUE: tuple[shapes.Shape, ...] = (
    *(shapes.Literal(word) for word in ("null", "true", "false")),
    shapes.StringShape(),
    shapes.NumberShape(),
    shapes.ObjectShape(),
    shapes.ArrayShape(),
)
