"""Over bytes alone the names of tokens are text, and tokens are not counted."""

from typing import Any

import pytest

import grammarlm as gl
from grammarlm.vocab.byte_vocabulary import STOP, byte_vocabulary

NUMBER = gl.JsonSchema({"type": "integer"})


def tag(form: dict[str, Any]) -> gl.StructuralTag:
    return gl.StructuralTag({"type": "structural_tag", "format": form})


def token(name: str | int) -> dict[str, Any]:
    return {"type": "token", "token": name}


CALL = {"type": "tag", "begin": token("<|call|>"), "content": {"type": "const_string", "value": "x"}, "end": token(7)}
CASES: dict[str, tuple[Any, list[str], list[str]]] = {
    "a token": (gl.Token("<|a|>") + gl.Regex("b+"), ["<|a|>bb"], ["b", "<|a|>"]),
    "an id": (gl.Token(151_657) + gl.Regex("b"), ["151657b"], ["b"]),
    "beside a schema": (gl.Text() + gl.Token("<|a|>") + NUMBER, ["so <|a|>12", "<|a|><|a|>1"], ["so 12", "<|a|>x"]),
    "of GBNF": (gl.Gbnf('root ::= "x" <[12]> | <|a|> root'), ["x12", "<|a|>x12"], ["x"]),
    "of EBNF": (gl.Ebnf('root ::= Token(3, 5) "y"'), ["3y", "5y"], ["y", "4y"]),
    "in a string": (tag({"type": "const_string", "value": "a<|a|>b"}), ["a<|a|>b"], ["ab"]),
    "of tags": (
        tag({"type": "tags_with_separator", "tags": [CALL], "separator": ","}),
        ["", "<|call|>x7,<|call|>x7"],
        ["x", "<|call|>x"],
    ),
    "what tokens trigger": (
        tag({"type": "token_triggered_tags", "trigger_tokens": ["<|call|>"], "tags": [CALL], "at_least_one": True}),
        ["<|call|>x7", "<|call|>x7 so"],
        ["<|call|>y7"],
    ),
    "any others": (tag({"type": "any_tokens", "exclude_tokens": ["<|call|>", 9]}), ["", "anything"], []),
    "tokens are not counted": (gl.Text(until="</think>", max_tokens=2) + NUMBER, ["a long thought</think>5"], ["a</think>"]),
    "nor in a choice": (gl.Text(max_tokens=1) | gl.Token("<|a|>"), ["much text", "<|a|>"], []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_names_are_text(case: str) -> None:
    grammar, fine, wrong = CASES[case]
    constraint = gl.compile(grammar, byte_vocabulary())
    for text, is_fine in [*((text, True) for text in fine), *((text, False) for text in wrong)]:
        matcher = constraint.matcher()
        read = all(map(matcher.advance, text.encode()))
        assert (read and matcher.advance(STOP)) == is_fine, text


def test_elsewhere_they_are_not() -> None:
    plain = gl.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], stop_ids=[256])
    with pytest.raises(gl.GrammarError, match="this vocabulary has no special token"):
        gl.compile(gl.Token("<|a|>") + gl.Regex("b+"), plain)
    matcher = gl.compile(gl.Text(max_tokens=2) + gl.Regex("x"), plain).matcher()
    assert matcher.validate(list(b"abc")) == 2
