"""Descriptions of grammars: operators, strings beside grammars, equality, long chains."""

import pytest

import grammarlm as gl
from tests.texts import BYTES


def accepts(grammar, text: str) -> bool:
    matcher = gl.compile(grammar, BYTES).matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting


def test_strings_stand_for_themselves_on_either_side() -> None:
    letters = gl.Regex("[a-c]+")
    assert accepts("x" + letters, "xab")
    assert accepts(letters + ".", "a.")
    assert not accepts(letters + ".", "ax")
    assert accepts("x" | letters, "x")
    assert accepts("abc" & letters, "abc")
    assert not accepts(letters - "abc", "abc")
    assert accepts("x" - letters, "x")


def test_chains_mean_what_python_says() -> None:
    a, b, c = gl.Regex("a"), gl.Regex("b"), gl.Regex("c")
    assert a + b + c == (a + b) + c
    assert hash(a | b | c) == hash((a | b) | c)
    assert accepts((a | b) + c, "bc")
    assert not accepts(a | (b + c), "ac")
    digits = gl.Regex("[0-9]")
    assert not accepts(digits - "1" - "2", "2")
    assert accepts(digits - (gl.Regex("[12]") - "2"), "2")


@pytest.mark.parametrize("sign", ["+", "|", "&", "-"])
def test_long_chains_are_not_deep(sign: str) -> None:
    step = {"+": gl.Regex.__add__, "|": gl.Regex.__or__, "&": gl.Regex.__and__, "-": gl.Regex.__sub__}[sign]
    grammar = gl.Regex("[ab]{0,9000}")
    for _ in range(5000):
        grammar = step(grammar, gl.Regex("[ab]{2}" if sign != "&" else "[ab]{0,8000}"))
    assert hash(grammar) == hash(grammar)
    assert len(repr(grammar)) < 300
    gl.compile(grammar, BYTES)


@pytest.mark.parametrize("sign", ["+", "|", "&"])
def test_chains_that_grow_to_the_left_are_not_deep_either(sign: str) -> None:
    step = {"+": gl.Regex.__add__, "|": gl.Regex.__or__, "&": gl.Regex.__and__}[sign]
    grammar = gl.Regex("a*")
    for _ in range(5000):
        grammar = step(gl.Regex("a*"), grammar)
    assert hash(grammar) == hash(grammar)
    assert len(repr(grammar)) < 300
    gl.compile(grammar, BYTES)


def test_half_a_surrogate_pair_is_no_text() -> None:
    for grammar in (gl.Regex("a") + "\ud800", gl.Choices(["a", "b\ud800"])):
        with pytest.raises(gl.GrammarError, match="half of a surrogate pair"):
            gl.compile(grammar, BYTES)


def test_other_operands_are_refused_by_python() -> None:
    with pytest.raises(TypeError):
        _ = gl.Regex("a") + 3
    with pytest.raises(TypeError):
        _ = None | gl.Regex("a")
