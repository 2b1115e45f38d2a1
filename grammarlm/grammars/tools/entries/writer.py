"""Arguments written as entries, as a grammar: required keys once, each value as the format spells its type.

    <parameter=city>\\nParis\\n</parameter>\\n<parameter=days>\\n3\\n</parameter>\\n

A string is raw, without quotes and escapes, under its schema (pattern, length, enum, format). It does not hold the mark that
follows it: readers cut there. Other values are JSON. Where a raw value may be a string or something else, what reads as a value
of one of the other types is that: of `["string", "integer"]` 12 is the integer, and no string begins like an object where objects
may come. Keys come in the declared order, or in any (`property_order`), those that are not declared last; such a key may come
twice, and the last counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.text import Text
from grammarlm.grammars.tools.texts import (
    closed_by,
    end_mark,
    first_letters,
    free_text,
    joined,
    one_of,
    other_keys,
    with_slots,
)
from grammarlm.grammars.tools.tool_format import Entries, Nested

from .arguments import TYPES, Arguments, Value, type_of
from .escapes import Escaped
from .nested import PYTHON_WORDS, NestedWriter, Notation, notation_of
from .orders import MOST_IN_ANY_ORDER, any_order, in_order

STRING = frozenset(["string"])
BLANKS = r"[ \t\r\n]*"  # JSON's white space
LOOKS_LIKE = {
    "null": f"{BLANKS}null{BLANKS}",
    "boolean": f"{BLANKS}(true|false){BLANKS}",
    "number": rf"{BLANKS}-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?{BLANKS}",
    "object": rf"(?s:{BLANKS}\{{.*)",
    "array": rf"(?s:{BLANKS}\[.*)",
}
PYTHON = dict(PYTHON_WORDS)


@dataclass(frozen=True)
class Spelling:
    """How an entry is written whose value is of one of these types."""

    before: str
    between: str
    after: str
    types: frozenset[str]


@lru_cache(maxsize=1024)
def spellings(entries: Entries, types: frozenset[str]) -> tuple[Spelling, ...]:
    """The types by how their entries are written; null is left out where the format writes none."""
    found: dict[tuple[str, str, str], set[str]] = {}
    before, between, after = entries.entry
    for kind in TYPES:
        if kind in types and (kind != "null" or entries.nulls):
            own = between if kind == "string" or entries.other is None else entries.other
            texts = before.replace("{type}", kind), own.replace("{type}", kind), after.replace("{type}", kind)
            found.setdefault(texts, set()).add(kind)
    return tuple(Spelling(*texts, types=frozenset(kinds)) for texts, kinds in found.items())


def key_ends(entries: Entries) -> list[str]:
    """What may follow a key: it has none of the letters that these begin with."""
    return [way.between for way in spellings(entries, frozenset(TYPES))]


def follows(entries: Entries, closing: str) -> list[str]:
    """What may follow a value: what ends its entry; where nothing does, the next entry or what ends all."""
    return [entries.entry[2]] if entries.entry[2] else [entries.gap or entries.entry[0], closing]


class EntryWriter:
    """The grammar of the entries of one tool. `closing`: what follows the last entry."""

    def __init__(self, entries: Entries, arguments: Arguments, specials: Specials, tool: str, closing: str):
        if "{key}" in entries.entry[0]:
            raise UnsupportedFeature(f"{tool}: the format writes a key before the key, which is not built")
        self.entries, self.arguments, self.specials, self.tool = entries, arguments, specials, tool
        self.after, self.closing, self.escaped = follows(entries, closing), closing, Escaped(entries.escapes)

    def grammar(self, property_order: str) -> Grammar:
        names = list(self.arguments.values)
        if self.entries.keys == "sorted":
            names.sort(key=str.lower)
        items = [
            (self._entry(name, self.arguments.values[name]), self._must(name))
            for name in names
            if spellings(self.entries, self.arguments.values[name].types)
        ]
        others = None if self.arguments.others is None else self._other(self.arguments.others)
        gap = self._gap()
        if property_order == "any" and len(items) > 1:
            if len(items) > MOST_IN_ANY_ORDER:
                raise UnsupportedFeature(
                    f'{self.tool}: property_order="any" of {len(items)} arguments that are written one by one: at most '
                    f'{MOST_IN_ANY_ORDER}; use "schema"'
                )
            return any_order(items, others, gap)
        return in_order(items, others, gap)

    def _gap(self) -> Grammar:
        return self.specials.grammar(self.entries.gap)

    def _must(self, name: str) -> bool:
        nullable = not self.entries.nulls and "null" in self.arguments.values[name].types
        return name in self.arguments.required and not nullable

    def _entry(self, name: str, value: Value) -> Grammar:
        ends = sorted(
            first_letters(*key_ends(self.entries)) & set(name)
            | {closed_by(self.entries.entry[0], self.closing)} & set(name[:1])
        )
        if not name or ends or not name.isprintable():
            what = f"the letter {ends[0]!r}" if ends else "no letters" if not name else "letters that are not printed"
            raise GrammarError(f"{self.tool}: its argument {name!r:.80} has {what}, which this format cannot write")
        return self._written(name, value)

    def _other(self, value: Value) -> Grammar:
        if "{key}" in "".join([*self.entries.entry, self.entries.other or ""]):
            raise UnsupportedFeature(
                f"{self.tool}: the format writes each key twice, so none that is not declared may come; say "
                '"additionalProperties": false'
            )
        ends, before = first_letters(*key_ends(self.entries)), self.entries.entry[0]
        return self._written(other_keys(ends, ["", *self.arguments.values], before, self.closing), value)

    def _written(self, key: str | Grammar, value: Value) -> Grammar:
        own = Literal(key) if isinstance(key, str) else key
        ways = []
        for way in spellings(self.entries, value.types):
            before, between, after = (self._text(text, key) for text in (way.before, way.between, way.after))
            ways.append(joined(before, own, between, self._values(value, way.types), after))
        return one_of(ways)

    def _text(self, text: str, key: str | Grammar) -> Grammar:
        return with_slots(text, self.specials, key=key)

    def _values(self, value: Value, types: frozenset[str]) -> Grammar:
        """The texts of the values of these types."""
        entries, ways = self.entries, list[Grammar]()
        apart = {
            kind for kind in ("array", "object") if kind in entries.python or isinstance(entries.values, Nested)
        } & types
        for kind in sorted(apart):
            notation, where = self._notation(kind), f"{value.tool}: {value.pointer}"
            if notation is None:
                raise UnsupportedFeature(f"{where}: the format writes an {kind} in a notation that is not built")
            inner = NestedWriter(notation, self.specials, where)
            ways += [inner.container(shape) for shape in value.containers() if type_of(shape) == kind]
        named = {kind for kind in ("boolean", "null") if kind in entries.python} & types
        if named:
            texts = [text for text in sorted(value.literals()) if ("null" if text == "null" else "boolean") in named]
            ways.append(Choices([PYTHON[text] for text in texts]))
        is_raw = entries.strings != "json"
        rest = types - named - apart - (STRING if is_raw else frozenset())
        if rest:
            ways.append(self._json(value, rest))
        if is_raw and "string" in types:
            ways.append(self._raw(value, types - STRING))
        return one_of(ways)

    def _notation(self, kind: str) -> Notation | None:
        return notation_of(self.entries, kind)

    def _json(self, value: Value, types: frozenset[str]) -> JsonSchema:
        return value.of_types(types)

    def _strings(self, value: Value) -> Grammar:
        if not self.entries.escapes:
            return value.strings
        found = self.escaped.strings(value.strings.of_shapes)
        if not found:
            raise UnsupportedFeature(f"{value.tool}: {value.pointer}: this format can write none of its strings")
        return one_of(found)

    def _without(self, strings: Grammar, marks: list[str]) -> Grammar:
        """The strings that do not hold what they end at."""
        is_sure = self.entries.escapes and self.escaped.ends_before(marks)
        return strings if is_sure else strings & free_text(marks)

    def _raw(self, value: Value, others: frozenset[str]) -> Grammar:
        """The strings, which are none of what is read as a value of the other types."""
        entries, strings = self.entries, self._strings(value)
        if isinstance(entries.strings, tuple):
            left, right = entries.strings
            inner = self._without(strings, [end_mark(right)])
            marked = joined(self.specials.grammar(left), inner, self.specials.grammar(right))
            if entries.marked is None:
                return marked
            bare = strings & free_text([*entries.marked, left, *self._ends()])
            has_one = Text() + Choices(list(entries.marked)) + Text()
            with_marks = (strings & has_one) & free_text([end_mark(right)])
            return one_of(
                [
                    unlike(bare, others, entries.python),
                    joined(self.specials.grammar(left), with_marks, self.specials.grammar(right)),
                ]
            )
        return unlike(self._without(strings, self._ends()), others, entries.python)

    def _ends(self) -> list[str]:
        """The marks that a raw string ends at."""
        found = [end_mark(text) for text in self.after if text]
        if not found:
            raise UnsupportedFeature(
                f"{self.tool}: nothing follows a raw value in this format, so its end cannot be told"
            )
        return found


def unlike(strings: Grammar, types: frozenset[str], python: Iterable[str]) -> Grammar:
    looks = [LOOKS_LIKE[kind] for kind in sorted(types)]
    looks += [
        {"boolean": "True|False", "null": "None"}[kind]
        for kind in python
        if kind in ("boolean", "null")
        if kind in types
    ]
    return strings - Regex("|".join(looks)) if looks else strings
