"""While a grammar is compiled Python's cycle collector waits, and nothing of a constraint needs it to be freed."""

import gc
from collections.abc import Iterator

import pytest

import grammarlm as gl
from grammarlm.collector import PATIENCE, PATIENT
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import NOTHING, Term
from grammarlm.masks.machines.json.languages import LanguageStates

pytestmark = pytest.mark.usefixtures("only_new_objects")
VOCAB = gl.Vocabulary([b"a", b"b", b"(", b")", b"ab", b"<end>"], stop_ids=[5])
USUAL = (600, 9, 8)


@pytest.fixture(autouse=True)
def usual_threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


class Spy(Grammar):
    """The text `a`; it writes down what the collector waits for while it is compiled."""

    def __init__(self, empty: bool = False):
        self.empty = empty
        self.seen: tuple[int, int, int] = (0, 0, 0)

    def language(self, algebra: Algebra) -> Term:
        self.seen = gc.get_threshold()
        return NOTHING if self.empty else algebra.word(b"a")


def test_the_collector_waits_while_a_grammar_is_compiled() -> None:
    spy = Spy()
    gl.compile(spy, VOCAB)
    assert spy.seen == (PATIENCE, *USUAL[1:])
    assert gc.get_threshold() == USUAL


def test_a_refusal_leaves_the_collector_as_it_was() -> None:
    spy = Spy(empty=True)
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(spy, VOCAB)
    assert spy.seen[0] == PATIENCE
    assert gc.get_threshold() == USUAL


def test_the_last_of_several_compiles_restores_it() -> None:
    with PATIENT:
        gl.compile(Spy(), VOCAB)
        assert gc.get_threshold()[0] == PATIENCE
    assert gc.get_threshold() == USUAL


def test_the_collector_waits_while_states_of_a_language_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come in the middle of a text, and stay."""
    seen = []
    make = LanguageStates.make
    monkeypatch.setattr(
        LanguageStates, "make", lambda self, states, *more: [seen.append(gc.get_threshold()), make(self, states)]
    )
    vocab = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], stop_ids=[256])
    matcher = gl.compile(gl.JsonSchema({"type": "string", "pattern": "^([ab]{3}c|[b-d]{7})*$"}), vocab).matcher()
    assert matcher.advance_bytes(b'"aabcbb')
    matcher.fill_mask(gl.allocate_mask(1, vocab.size))
    assert seen
    assert {threshold[0] for threshold in seen} == {PATIENCE}
    assert gc.get_threshold() == USUAL


def test_a_server_keeps_its_own_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PATIENT, "is_enabled", False)
    with PATIENT:
        assert gc.get_threshold() == USUAL
    assert gc.get_threshold() == USUAL
