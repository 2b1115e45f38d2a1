"""Styles in which the properties of an object are entries, strings raw between tags and other values JSON.

    qwen_xml       <parameter=city>Paris</parameter><parameter=days>3</parameter>
    glm_xml        <arg_key>city</arg_key><arg_value>Paris</arg_value>

White space may stand between entries, and around JSON. All else is said in tools/entries/writer.py; where values are elements at
every depth, in tagged.py.
"""

from __future__ import annotations

from dataclasses import replace

from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.text import Ban
from grammarlm.grammars.tools.entries.arguments import Arguments, Value
from grammarlm.grammars.tools.entries.nested import Notation
from grammarlm.grammars.tools.entries.writer import EntryWriter
from grammarlm.grammars.tools.texts import joined
from grammarlm.grammars.tools.tool_format import Entries, Nested

from .tagged import Elements, ElementWriter
from .without import without_texts

LINE_BREAK = Regex(r"\n?")
STYLES = {  # a line break may be left out: readers drop it
    "qwen_xml": Entries(("<parameter=", ">\n", "\n</parameter>")),
    "minimax_xml": Entries(('<parameter name="', '">', "</parameter>")),
    "deepseek_xml": Entries(
        ('<｜DSML｜parameter name="', '" string="true">', "</｜DSML｜parameter>"), other='" string="false">'
    ),
    "deepseek_v4_1_xml": Entries(
        ('<｜DSML｜ parameter name="', '" string="true">', "</｜DSML｜ parameter>"), other='" string="false">'
    ),
    "glm_xml": Entries(("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>")),
    "kimi_k3_xml": Entries(
        ('<|open|>argument key="', '" type="{type}"<|sep|>', "<|close|>argument<|sep|>"),
    ),
    "gemma": Entries(("", ":", ""), ",", strings=('<|"|>', '<|"|>'), values=Nested(("{", "}"), ("[", "]"))),
}
ELEMENTS = {
    "minimax_m3_xml": Elements(
        ("]<]minimax[>[<", ">", "]<]minimax[>[</{key}>"),
        ("]<]minimax[>[<item>", "]<]minimax[>[</item>"),
        ("", "", "", ""),
        "]<]minimax[>[",
    ),
    "cohere_xml": Elements(
        ('<cofl:value name="', '" type="{type}">', "</cofl:value>"),
        ('<cofl:value type="{type}">', "</cofl:value>"),
        ("raw", "dict", "list", "json"),
        "</cofl:value>",
    ),
}


def entries_of(
    style: str, schema: JsonSchema, specials: Specials, at: str, most_blanks: int | None, excludes: tuple[str, ...]
) -> Grammar:
    """The properties of an object under the schema, in a style; `at`: where it stands, for messages."""
    arguments = Arguments.of(schema, at)
    order = "any" if schema.property_order == "any" else "schema"
    blanks = r"[ \n\r\t]*" if most_blanks is None else rf"[ \n\r\t]{{0,{most_blanks}}}"
    if style in ELEMENTS:
        return ElementsWriter(ELEMENTS[style], arguments, specials, at, blanks, order == "any").grammar(order)
    entries = STYLES[style]
    if style != "gemma":
        return LooseWriter(entries, arguments, specials, at, "", blanks, order == "any", excludes).grammar(order)
    inner = LooseWriter(entries, arguments, specials, at, "}", blanks, order == "any", excludes).grammar(order)
    return joined(Literal("{"), inner, Literal("}"))


class LooseWriter(EntryWriter):
    """Entries with white space between them, and around JSON. No string and no key that is free contains any of `excludes`."""

    def __init__(
        self,
        entries: Entries,
        arguments: Arguments,
        specials: Specials,
        tool: str,
        closing: str,
        blanks: str,
        is_any_order: bool,
        excludes: tuple[str, ...] = (),
    ):
        super().__init__(entries, arguments, specials, tool, closing)
        self.pattern, self.blanks, self.is_any_order, self.excludes = blanks, Regex(blanks), is_any_order, excludes

    def _gap(self) -> Grammar:
        return joined(self.blanks, Literal(self.entries.gap)) if self.entries.gap else Literal("")

    def grammar(self, property_order: str) -> Grammar:
        return joined(super().grammar(property_order), self.blanks)

    def _written(self, key: str | Grammar, value: Value) -> Grammar:
        own = key if isinstance(key, str) or not self.excludes else key & Ban(self.excludes)
        return joined(self.blanks, super()._written(own, value))

    def _text(self, text: str, key: str | Grammar) -> Grammar:
        if text == ":":  # nothing else ends the key
            return joined(self.blanks, Literal(text), self.blanks)
        first, *others = text.split("\n")
        found = [super()._text(first, key)]
        for number, piece in enumerate(others):
            is_inside = piece and (number or first)  # else it stands beside the value, and readers drop one
            found += [self.blanks if is_inside else LINE_BREAK, super()._text(piece, key)]
        return joined(*found)

    def _values(self, value: Value, types: frozenset[str]) -> Grammar:
        found = super()._values(value, types)
        is_bare = "string" in types or isinstance(self.entries.strings, tuple)
        return found if is_bare else joined(self.blanks, found, self.blanks)

    def _notation(self, kind: str) -> Notation | None:
        found = super()._notation(kind)
        if found is None:
            return None
        return replace(found, blanks=self.pattern, is_any_order=self.is_any_order, excludes=self.excludes)

    def _json(self, value: Value, types: frozenset[str]) -> JsonSchema:
        return without_texts(super()._json(value, types), self.excludes)

    def _strings(self, value: Value) -> Grammar:
        return value.strings & Ban(self.excludes) if self.excludes else value.strings


class ElementsWriter(LooseWriter):
    """Entries whose values are elements, too."""

    def __init__(
        self, elements: Elements, arguments: Arguments, specials: Specials, tool: str, blanks: str, is_any_order: bool
    ):
        super().__init__(Entries(elements.entry), arguments, specials, tool, "", blanks, is_any_order)
        self.elements = elements

    def _written(self, key: str | Grammar, value: Value) -> Grammar:
        where = f"{value.tool}: {value.pointer}"
        return ElementWriter(self.elements, self.pattern, self.is_any_order, self.specials, where).of(key, value)
