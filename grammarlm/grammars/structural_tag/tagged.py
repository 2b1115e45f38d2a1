"""Values written as elements at every depth: a string raw, a number as JSON, an object as its entries, an array as its items.

    <cofl:value name="tags" type="list"><cofl:value type="raw">x</cofl:value></cofl:value>
    ]<]minimax[>[<tags>]<]minimax[>[<item>x]<]minimax[>[</item>]<]minimax[>[</tags>

White space may stand between elements, and around JSON. Where a key is written twice, keys must be declared: a value about which
its schema says nothing is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grammarlm.grammars.cfg import rules as cfg
from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.json_schema.shapes import shapes
from grammarlm.grammars.repeat import Repeat
from grammarlm.grammars.text import Ban
from grammarlm.grammars.tools.entries.arguments import Value, type_of
from grammarlm.grammars.tools.entries.nested import NUMBER, NestedWriter, Notation, cfg_text, without
from grammarlm.grammars.tools.entries.raw_strings import RawStrings
from grammarlm.grammars.tools.entries.writer import unlike
from grammarlm.grammars.tools.texts import joined, one_of, with_slots


@dataclass(frozen=True)
class Elements:
    """An element is entry[0] KEY entry[1] VALUE entry[2], one of an array item[0] VALUE item[1]; `{type}` in them is a kind."""

    entry: tuple[str, str, str]
    item: tuple[str, str]
    kinds: tuple[str, str, str, str]  # what `{type}` is for a string, an object, an array, and other values
    ends: str  # what no string contains

    @property
    def repeats_keys(self) -> bool:
        return any("{key}" in text for text in self.entry)

    @property
    def tells_kinds(self) -> bool:
        return "{type}" in self.entry[1]


class ElementWriter(NestedWriter):
    """The grammar of elements. `blanks`: a pattern of the white space between them."""

    def __init__(self, elements: Elements, blanks: str, is_any_order: bool, specials: Specials, where: str):
        entry = elements.entry[0], elements.entry[1].split("{type}")[0], ""
        bare = Notation(("", ""), ("", ""), entry, "", None, is_any_order=is_any_order, blanks=blanks)
        super().__init__(bare, specials, where)
        self.elements = elements

    def element(self, key: str | Grammar | None, alternatives: tuple[shapes.Shape, ...]) -> Grammar:
        """An element whose value is one of these; without a key one of an array."""
        form, blanks = self.elements, self._blanks
        name = Literal(key) if isinstance(key, str) else Literal("") if key is None else key
        texts = (form.item[0], "", form.item[1]) if key is None else form.entry
        ways = []
        for kind, content in self._contents(alternatives):
            before, between, after = (
                with_slots(text.replace("{type}", kind), self.specials, key=name) for text in texts
            )
            ways.append(joined(blanks, before, name, between, content, after))
        return one_of(ways)

    def _contents(self, alternatives: tuple[shapes.Shape, ...]) -> list[tuple[str, Grammar]]:
        raw, dictionary, array, other = self.elements.kinds
        strings = tuple(shape for shape in alternatives if isinstance(shape, shapes.StringShape))
        found: list[tuple[str, Grammar]] = []
        for shape in alternatives:
            if isinstance(shape, shapes.ObjectShape):
                found.append((dictionary, self.container(shape)))
            elif isinstance(shape, shapes.ArrayShape):
                found.append((array, self.container(shape)))
            elif isinstance(shape, shapes.Literal):
                found.append((other, joined(self._blanks, Literal(shape.text), self._blanks)))
            elif isinstance(shape, shapes.NumberShape):
                number = JsonSchema(self._number(shape), whitespace="compact")
                found.append((other, joined(self._blanks, number, self._blanks)))
        if strings:
            kinds = frozenset(map(type_of, alternatives)) - {"string", "object", "array"}
            raw_text = RawStrings(strings) & Ban([self.elements.ends])
            found.append((raw, raw_text if self.elements.tells_kinds else unlike(raw_text, kinds, ())))
        return found

    def _entry(self, key: Grammar, name: str, alternatives: tuple[shapes.Shape, ...]) -> Grammar:
        if self.notation.key_ends & set(name) or not name.isprintable():
            raise self._refused(f"the key {name!r:.80}")
        if self.elements.repeats_keys and not name:
            raise self._refused("a key that is not declared")
        return self.element(key, alternatives)

    def _array(self, shape: shapes.ArrayShape) -> Grammar:
        if shape.prefix or shape.contains or shape.unique or len(shape.rest) > 1:
            raise self._refused("an array with items by position, or that must differ or be contained")
        if not shape.rest:
            return Literal("")
        if shape.rest[0].node.is_anything and not shape.minimum and shape.maximum is None:
            return self._free("items")
        item = self.element(None, self._alternatives(shape.rest[0].node))
        return Repeat(item, shape.minimum, shape.maximum)

    def _free(self, start: str) -> Grammar:
        if self.elements.repeats_keys:
            raise self._refused("a key that is not declared")
        return FreeElements(self.elements, self.specials, self.notation.blanks, start)

    def of(self, key: str | Grammar, value: Value) -> Grammar:
        """The element of an argument; with a grammar as its key one that is not declared."""
        return self._entry(
            Literal(key) if isinstance(key, str) else key, key if isinstance(key, str) else "", value.alternatives
        )


@dataclass(frozen=True)
class FreeElements(Grammar):
    """Elements of any object, or of any array."""

    elements: Elements
    specials: Specials
    blanks: str
    start: str

    def rules(self, tick: Callable[[], None]) -> cfg.Rules:
        raw, dictionary, array, other = self.elements.kinds
        blanks, (before, between, after), item = cfg.Pattern(self.blanks, 0), self.elements.entry, self.elements.item
        end = "".join(f"\\u{ord(letter):04x}" for letter in between[0])
        contents: dict[str, cfg.Node] = {
            raw: cfg.Pattern(f"(?s:(?:{without([self.elements.ends])}.)*)", 0),
            other: cfg.Pattern(f"{self.blanks}(?:{NUMBER}|null|true|false){self.blanks}", 0),
            dictionary: cfg.Sequence((cfg.Call("entries", 0), blanks)),
            array: cfg.Sequence((cfg.Call("items", 0), blanks)),
        }

        def listed(first: str, key: tuple[cfg.Node, ...], middle: str, last: str) -> cfg.Node:
            ways = [
                cfg.Sequence((text(first, kind), *key, text(middle, kind), content, text(last, kind)))
                for kind, content in contents.items()
            ]
            return cfg.Repeat(cfg.Sequence((blanks, cfg.Alternatives(tuple(ways)))), 0, None)

        def text(piece: str, kind: str) -> cfg.Node:
            return cfg_text(piece.replace("{type}", kind), self.specials)

        bodies = {
            "entries": listed(before, (cfg.Pattern(f"[^{end}]*", 0),), between, after),
            "items": listed(item[0], (), "", item[1]),
        }
        return cfg.Rules(self.start, bodies)
