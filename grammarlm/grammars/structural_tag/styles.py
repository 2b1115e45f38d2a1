"""Styles in which the properties of an object are entries, strings raw between tags and other values JSON.

    qwen_xml       <parameter=city>Paris</parameter><parameter=days>3</parameter>
    glm_xml        <arg_key>city</arg_key><arg_value>Paris</arg_value>

White space may stand between entries, and around JSON. All else is said in tools/entries/writer.py.
"""

from __future__ import annotations

from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.tools.entries.arguments import Arguments, Value
from grammarlm.grammars.tools.entries.writer import EntryWriter
from grammarlm.grammars.tools.texts import joined
from grammarlm.grammars.tools.tool_format import Entries, Nested

APART = Nested(("", ""), ("", ""), "item")  # objects and arrays are entries again: refused by name
LINE_BREAK = Regex(r"\n?")
GEMMA = Entries(("", ":", ""), ",", strings=('<|"|>', '<|"|>'), values=Nested(("{", "}"), ("[", "]")))
STYLES = {  # a line break may be left out: readers drop it
    "qwen_xml": Entries(("<parameter=", ">\n", "\n</parameter>")),
    "minimax_xml": Entries(('<parameter name="', '">', "</parameter>")),
    "minimax_m3_xml": Entries(("]<]minimax[>[<", ">", "]<]minimax[>[</{key}>"), values=APART),
    "deepseek_xml": Entries(
        ('<｜DSML｜parameter name="', '" string="true">', "</｜DSML｜parameter>"), other='" string="false">'
    ),
    "deepseek_v4_1_xml": Entries(
        ('<｜DSML｜ parameter name="', '" string="true">', "</｜DSML｜ parameter>"), other='" string="false">'
    ),
    "glm_xml": Entries(("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>")),
    "cohere_xml": Entries(
        ('<cofl:value name="', '" type="raw">', "</cofl:value>"), other='" type="json">', values=APART
    ),
    "kimi_k3_xml": Entries(
        ('<|open|>argument key="', '" type="{type}"<|sep|>', "<|close|>argument<|sep|>"),
    ),
}


def entries_of(style: str, schema: JsonSchema, specials: Specials, at: str, most_blanks: int | None) -> Grammar:
    """The properties of an object under the schema, in a style; `at`: where it stands, for messages."""
    arguments = Arguments.of(schema, at)
    order = "any" if schema.property_order == "any" else "schema"
    if style == "gemma":
        return joined(Literal("{"), EntryWriter(GEMMA, arguments, specials, at, "}").grammar(order), Literal("}"))
    blanks = Regex(r"[ \n\r\t]*" if most_blanks is None else rf"[ \n\r\t]{{0,{most_blanks}}}")
    return LooseWriter(STYLES[style], arguments, specials, at, blanks).grammar(order)


class LooseWriter(EntryWriter):
    """Entries with white space between them, and around JSON."""

    def __init__(self, entries: Entries, arguments: Arguments, specials: Specials, tool: str, blanks: Grammar):
        super().__init__(entries, arguments, specials, tool, "")
        self.blanks = blanks

    def _gap(self) -> Grammar:
        return self.blanks

    def grammar(self, property_order: str) -> Grammar:
        return joined(self.blanks, super().grammar(property_order), self.blanks)

    def _text(self, text: str, key: str | Grammar) -> Grammar:
        first, *others = (EntryWriter._text(self, piece, key) for piece in text.split("\n"))
        return joined(first, *(part for piece in others for part in (LINE_BREAK, piece)))

    def _values(self, value: Value, types: frozenset[str]) -> Grammar:
        found = super()._values(value, types)
        is_bare = "string" in types or self.entries.values is APART
        return found if is_bare else joined(self.blanks, found, self.blanks)
