"""Markers of texts that are names of special tokens are the tokens, wherever the text stands."""

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar

END, STOP = 256, 257
VOCAB = gl.Vocabulary(
    [*(bytes([byte]) for byte in range(256)), b"</think>", b"<eos>"], stop_ids=[STOP], special_ids=[END, STOP]
)
LETTERS = gl.Vocabulary([VOCAB.token_bytes(token) for token in range(258)], stop_ids=[STOP], special_ids=[STOP])
VALUE = gl.JsonSchema({"enum": [True]}, whitespace="compact")


def reads(grammar: Grammar, *steps: int | bytes, vocab: gl.Vocabulary = VOCAB) -> bool:
    matcher = gl.compile(grammar, vocab).matcher()
    for step in steps:
        if not (matcher.advance(step) if isinstance(step, int) else matcher.advance_bytes(step)):
            return False
    return matcher.is_accepting


@pytest.mark.parametrize("behind", ["", VALUE], ids=["alone", "before a schema"])
def test_the_token_ends_the_text_and_its_letters_do_not(behind: object) -> None:
    grammar, rest = gl.Text(until="</think>") + behind, b"true" if behind else b""
    assert reads(grammar, b"so", END, rest)
    assert not reads(grammar, b"so</think>", rest)
    assert reads(grammar, b"so</think>", rest, vocab=LETTERS)


def test_one_of_several_markers() -> None:
    grammar = gl.Text(until=("</think>", "#")) + VALUE
    assert reads(grammar, b"a", END, b"true")
    assert reads(grammar, b"a#", b"true")
    assert not reads(grammar, b"a#", END, b"true")


def test_the_token_is_one_of_the_tokens() -> None:
    grammar = gl.Text(until="</think>", max_tokens=3) + VALUE
    assert reads(grammar, 97, 97, END, b"true")
    assert not reads(grammar, 97, 97, 97)
    assert reads(gl.Text(until="</think>", max_tokens=1) + VALUE, END, b"true")


def test_beside_a_condition() -> None:
    for grammar in (gl.Text(until="</think>") & gl.Ban(["x"]), gl.Marked("so</think>") & gl.Ban(["x"])):
        assert reads(grammar, b"so", END)
        assert not reads(grammar, b"so</think>")
    with pytest.raises(gl.UnsupportedFeature, match="'-' with a context-free grammar after it"):
        gl.compile(gl.Regex("[^x]*") - gl.Text(until="</think>"), VOCAB)
