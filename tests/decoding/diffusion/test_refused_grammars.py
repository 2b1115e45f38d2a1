"""The grammars that have no canvas, each in the list of what is refused."""

from pathlib import Path

import pytest

import grammarlm as gl

SUPPORT = Path(__file__).parents[3] / "docs/reference/support.md"
VOCAB = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b"<m>", b"</s>"], [257], [256, 257])
DIFFERENT = {"type": "array", "uniqueItems": True}
REFUSED = {
    "lists of items": (gl.TokenList(gl.Tokens([[1], [2]])), "lists of items"),
    "items beside other grammars": (gl.Tokens([[1]]) + gl.Regex("!"), "beside other grammars"),
    "name tokens by their ids": (gl.Gbnf('root ::= "a" <m> root | "b"'), "names tokens"),
    "indented blocks": (gl.Lark.library("python"), "indented blocks"),
    "more than 62 declared keys": (gl.JsonSchema({"properties": {f"k{i}": {} for i in range(63)}}), "more than 62 declared"),
    "of objects or arrays": (gl.JsonSchema({**DIFFERENT, "items": {"type": "array"}}), "items may be objects or arrays"),
    "a finite set of strings, numbers and literals": (gl.JsonSchema({**DIFFERENT, "items": {"type": "string"}}), "no finite set"),
    "12 values": (gl.JsonSchema({**DIFFERENT, "items": {"enum": list(range(13))}}), "13 values; 12 at most"),
}  # fmt: skip


@pytest.mark.parametrize("said", REFUSED)
def test_a_grammar_without_a_canvas_is_in_the_list(said: str) -> None:
    grammar, message = REFUSED[said]
    with pytest.raises(gl.UnsupportedFeature, match=message):
        gl.compile(grammar, VOCAB).canvas(4)
    of_infilling = SUPPORT.read_text(encoding="utf-8").partition("\n## Infilling\n")[2].partition("\n## ")[0]
    assert said in " ".join(of_infilling.split())
