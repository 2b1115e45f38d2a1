"""Names in grammars: they change no texts, and each stands for one part or for a list."""

import pytest

import grammarlm as gl
from grammarlm.grammars.capture import Capture
from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.names import names_of, without_names
from grammarlm.grammars.repeat import Repeat

S = gl.JsonSchema({"type": "integer"})
A, B = Capture("a", "x"), Capture("b", S)


@pytest.mark.parametrize(
    ("grammar", "several", "schemas"),
    [
        (A, {"a": False}, 0),
        (A + B, {"a": False, "b": False, None: False}, 1),
        (A | A + B, {"a": False, "b": False, None: False}, 1),
        (A + "," + A, {"a": True}, 0),
        ((A | "") + (A | B), {"a": True, "b": False, None: False}, 1),
        (Repeat(A), {"a": True}, 0),
        (Repeat(A, max=1), {"a": False}, 0),
        (Repeat(A, max=0) + B, {"b": False, None: False}, 1),
        (Repeat("x", separator=A), {"a": True}, 0),
        (Capture("a", A), {"a": True}, 0),
        (B + B, {"b": True, None: True}, 2),
        (B | S, {"b": False, None: False}, 2),
        (Repeat(S, separator="\n"), {None: True}, 1),
        ("answer: " + S, {None: False}, 1),
        ((A + gl.Text()) & gl.Ban(["z"]), {"a": False}, 0),
        ((A + gl.Text()) - "xz" - "xy", {"a": False}, 0),
        (Capture("a", gl.Regex("x*") & gl.Regex("..")), {"a": False}, 0),
    ],
)
def test_what_a_name_stands_for(grammar: Grammar, several: dict[str | None, bool], schemas: int) -> None:
    names = names_of(grammar)
    assert names is not None
    assert (names.several, names.schemas) == (several, schemas)


@pytest.mark.parametrize("grammar", [S, S | S, gl.Text() + "a", gl.Regex("a") & gl.Text(), Repeat("a"), S + "," + S])
def test_nothing_is_read_back_without_names(grammar: Grammar) -> None:
    assert names_of(grammar) is None
    assert without_names(grammar) is grammar


def test_a_grammar_with_2_to_the_60_parts_is_counted_once() -> None:
    grammar = A + Literal("")
    for _ in range(60):
        grammar = Repeat(grammar | (grammar + ","))
    names = names_of(grammar)
    assert names is not None
    assert names.several == {"a": True}


@pytest.mark.parametrize("grammar", ["y" + (A & gl.Text()), Repeat((A + "z") - "xz"), A & A])
def test_names_below_and_are_refused(grammar: Grammar) -> None:
    vocab = gl.Vocabulary([b"x", b"y", b"z", b"</s>"], stop_ids=[3])
    with pytest.raises(
        gl.UnsupportedFeature, match=r"around Capture\('a', ...\) stands inside another grammar.*outermost"
    ):
        gl.compile(grammar, vocab)


def test_constraints_with_names_are_saved() -> None:
    vocab = gl.Vocabulary([b"x", b",", b"</s>"], stop_ids=[2])
    constraint = gl.compile(Repeat(Capture("a", "x"), 1, 3, ","), vocab)
    again = gl.Constraint.from_bytes(constraint.to_bytes(), vocab)
    assert again.grammar == constraint.grammar
    assert again.ways is not None
    assert again.ways.names.several == {"a": True}
