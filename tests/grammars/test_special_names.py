"""Names of special tokens in texts, and stop tokens that derived grammars name."""

import random

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.derived import Marked, Specials
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.repeat import Repeat
from grammarlm.grammars.stops import without_stops

STOPS: frozenset[str | int] = frozenset(["<e>", 7])
END, OTHER = Token("<e>"), Token("<x>")
A, B, EMPTY = Literal("a"), Literal("b"), Literal("")


def split_by_trying(text: str, names: list[str]) -> list[str | Token]:
    """At each place the longest name, one letter after the other."""
    found: list[str | Token] = []
    at = 0
    while at < len(text):
        name = max((name for name in names if text.startswith(name, at)), key=len, default="")
        if name:
            found.append(Token(name))
        elif found and isinstance(found[-1], str):
            found[-1] += text[at]
        else:
            found.append(text[at])
        at += max(len(name), 1)
    return found


@pytest.mark.parametrize("names", [["<a>", "<a>b", "a", "[]^-"], ["<<", "<<<"], [], ["a"], ["\\", "]", "^"]], ids=repr)
def test_texts_are_cut_at_the_longest_names(names: list[str]) -> None:
    rng, specials = random.Random(f"{names}"), Specials([*names, ""])
    for _ in range(300):
        text = "".join(rng.choice([*names, "<", "a", "b", ">", "]", "^", "\\", "-"]) for _ in range(rng.randint(0, 7)))
        assert specials.split(text) == split_by_trying(text, names), text


@pytest.mark.parametrize(("grammar", "same"), [
    (A, A),
    (A + OTHER, A + OTHER),
    (A + END, A),
    (Token(7), EMPTY),
    (END | (A + OTHER), (A + OTHER) | EMPTY),
    (A + (END | B) + B, (A + B + B) | A),
    (Repeat(A + END, 0, None) + B, B | A),
    (Repeat(A + END, 1, None), A),
    (Repeat(A | (B + END), 0, None), Repeat(A) | (Repeat(A) + B)),
    (Repeat(A | (B + END), 2, 3, separator=","), Repeat(A, 2, 3, ",") | (Repeat(A + Literal(","), 1, 2) + B)),
    (Repeat(END, 0, 0), EMPTY),
    (gl.Text() | (gl.Text() + END), gl.Text()),
])  # fmt: skip
def test_a_stop_token_is_the_end_of_the_text(grammar: Grammar, same: Grammar) -> None:
    found = without_stops(grammar, STOPS)
    assert found == same
    if same == grammar:
        assert found is grammar


@pytest.mark.parametrize(
    "grammar", [END + A, Marked("<e>") + OTHER, A + END + OTHER], ids=["a letter", "a mark", "a token"]
)
def test_nothing_follows_a_stop_token(grammar: Grammar) -> None:
    vocab = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b"<e>", b"<x>"], [256], [256, 257])
    with pytest.raises(gl.GrammarError, match=r"a stop token ends the text, but .* follows it"):
        gl.compile(Marked("") | grammar, vocab)
