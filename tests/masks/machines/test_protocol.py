"""Every machine keeps the protocol (masks/protocol.py); a toy machine shows what a new one takes, and a broken one is found."""

import re
import time

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar, leaves
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.machines import registry as machines
from grammarlm.masks.machines.registry import MACHINES, Machine, machine_of
from grammarlm.masks.protocol import FINISHED, EpochDefaults, ProgramDefaults
from grammarlm.masks.report import Report
from grammarlm.masks.runtime.limits import Clock
from grammarlm.masks.runtime.shared_lock import PROGRAM, shared_lock
from grammarlm.masks.token_facts import pack_ids, token_facts

from .machine_examples import EXAMPLES, STOP, VOCAB
from .machine_law import check_full, check_language, check_machine


@pytest.mark.parametrize(("machine", "grammar", "vocab"), EXAMPLES, ids=lambda value: repr(value)[:40])
def test_a_machine_keeps_the_protocol(machine: str, grammar: Grammar, vocab: gl.Vocabulary) -> None:
    assert machine_of(grammar).name == machine
    assert check_machine(gl.compile(grammar, vocab)) >= 6


# A machine's grammar, and the same language as a predicate of texts of these letters.
LANGUAGES = [
    ("regular", gl.Regex("(ab)*c{2,3}"), lambda text: re.fullmatch(rb"(?:ab)*c{2,3}", text), b"abc"),
    (
        "stack",
        gl.Gbnf('root ::= "a" root "b" | "c"'),
        lambda text: text == b"a" * (n := len(text) // 2) + b"c" + b"b" * n,
        b"abc",
    ),
    (
        "json",
        gl.JsonSchema({"enum": [1, 11, [1]]}, whitespace="compact"),
        lambda text: text in (b"1", b"11", b"[1]"),
        b"1[],",
    ),
    (
        "json",
        gl.JsonSchema(
            {"items": {"items": True, "type": "array"}, "type": "array", "uniqueItems": True}, whitespace="compact"
        ),
        lambda text: text in (b"[]", b"[[]]", b"[[1]]", b"[[{}]]", b"[[[]]]", b"[[11]]"),
        b"[]{}1",
    ),
    ("items", gl.Tokens([[97, 98], [97, 97]]), lambda text: text in (b"ab", b"aa"), b"ab"),
    ("substring", gl.Substring("abcabxab"), lambda text: text in b"abcabxab", b"abcx"),
    (
        "substring",
        gl.Substring("ab ab-a b", unit="word"),
        lambda text: re.search(rb"(?:(?<!\w)|(?!\w))%b(?:(?<!\w)|(?!\w))" % re.escape(text), b"ab ab-a b"),
        b"ab -",
    ),
    ("parts", gl.Regex("ab*") + gl.JsonSchema({"const": 1}), lambda text: re.fullmatch(rb"ab*\s*1\s*", text), b"ab1"),
]


@pytest.mark.parametrize(
    ("machine", "grammar", "accepts", "letters"), LANGUAGES, ids=[row[0] + str(at) for at, row in enumerate(LANGUAGES)]
)
def test_a_machine_reads_its_grammar(machine: str, grammar: Grammar, accepts, letters: bytes) -> None:
    assert machine_of(grammar).name == machine
    assert check_language(gl.compile(grammar, VOCAB), lambda text: bool(accepts(text)), letters, 5) >= 2


@pytest.mark.parametrize(("machine", "grammar", "vocab"), EXAMPLES, ids=lambda value: repr(value)[:40])
def test_full_epochs_change_no_mask(machine: str, grammar: Grammar, vocab: gl.Vocabulary) -> None:
    # Beside indented blocks ends are looked for, which takes more states at once.
    has_blocks = any(isinstance(leaf, gl.Lark) and leaf.indent is not None for leaf in leaves(grammar))
    check_full(grammar, vocab, most=300 if has_blocks else 16)


def test_every_machine_is_held_to_it() -> None:
    assert {machine for machine, _, _ in EXAMPLES} == {machine.name for machine in MACHINES}
    assert {row[0] for row in LANGUAGES} == {machine.name for machine in MACHINES}


# ---- a toy machine: words of brackets, balanced. One grammar class, one program, one epoch, one function, one line.


class Balanced(Grammar):
    """Texts of ( and ) that are balanced."""


class BalancedProgram(ProgramDefaults):
    tokens_spell_all = True

    def __init__(self, vocab: gl.Vocabulary, limits: gl.Limits) -> None:
        self.vocab, self.limits, self.clock = vocab, limits, Clock(limits)
        self.facts, self.lock, self.start = token_facts(vocab), shared_lock(PROGRAM), 0


class BalancedEpoch(EpochDefaults):
    """A state is how many brackets are open, and 2: 0 and 1 are taken. A term is how many are open.

    Nothing is stored for a state, so that an epoch is never full. A machine that stores states sets `is_full` and raises
    LimitExceeded where `program.limits` are reached; the matcher goes on in a new epoch.
    """

    address = 0

    def __init__(self, program: BalancedProgram) -> None:
        self.program, self.is_full, self.start, self.nbytes, self.tables = program, False, 2, 1, self
        self.terms, self.accepting, self.rows = (
            _ByState(lambda s: s - 2),
            _ByState(lambda s: s in (1, 2)),
            _ByState(lambda s: None),
        )

    def state_of(self, term: int) -> int:
        return term + 2

    def after_bytes(self, state: int, data: bytes) -> int:
        for byte in data:
            state += {40: 1, 41: -1}.get(byte, -(1 << 60))
            if state < 2:
                return 0
        return state

    def after_token(self, state: int, token: int) -> int:
        return (
            self.after_bytes(state, self.program.vocab.token_bytes(token)) if self.program.facts.is_text[token] else 0
        )

    def peek_token(self, address: int, state: int, token: int) -> int:
        return -1

    def row(self, state: int) -> np.ndarray:
        stops = self.program.facts.stop_row
        if state == FINISHED:
            return stops
        row = pack_ids([t for t in self.program.vocab.text_ids.tolist() if self.after_token(state, t)], len(stops))
        return row | stops if self.accepting[state] else row

    def completion(self, state: int) -> list[bytes]:
        return [b")" * (state - 2)] if state > 2 else []


def is_balanced(text: bytes) -> bool:
    while b"()" in text:
        text = text.replace(b"()", b"")
    return not text


class Leaky(BalancedEpoch):
    """One that forgets to refuse what closes too much."""

    def row(self, state: int) -> np.ndarray:
        return super().row(state) | pack_ids([41], len(self.program.facts.stop_row))


class _ByState:
    def __init__(self, of):
        self._of = of

    def __getitem__(self, state: int):
        return self._of(state)


def balanced_automaton(grammar, vocab, limits, canonical_only, epoch=BalancedEpoch):
    return Automaton(BalancedProgram(vocab, limits), epoch), Report("Balanced", limits, 256, True)


def leaky_automaton(*arguments):
    return balanced_automaton(*arguments, epoch=Leaky)


def compile_balanced(monkeypatch: pytest.MonkeyPatch, function: str) -> gl.Constraint:
    line = Machine("toy", lambda grammar: isinstance(grammar, Balanced), f"{__name__}:{function}")
    monkeypatch.setattr(machines, "MACHINES", [line, *MACHINES])
    return gl.compile(Balanced(), VOCAB)


def test_a_new_machine_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = compile_balanced(monkeypatch, "balanced_automaton")
    assert check_machine(constraint) >= 6
    assert check_language(constraint, is_balanced, b"()a", 6) == 9  # the Catalan numbers 1, 1, 2, 5
    check_full(Balanced(), VOCAB)
    matcher = constraint.matcher(max_tokens=6)
    assert matcher.advance_bytes(b"((")
    assert matcher.min_tokens_left == 1  # ))
    assert matcher.fork().forced_bytes() == b""
    assert "expected '(' to ')'" in matcher.explain(97) or "expected '(', ')'" in matcher.explain(97)
    assert [matcher.advance(token) for token in b"))"] == [True, True]
    assert matcher.is_accepting
    assert matcher.advance(STOP)


class Partial(BalancedProgram):
    tokens_spell_all = False


def partial_automaton(grammar, vocab, limits, canonical_only):
    return Automaton(Partial(vocab, limits), BalancedEpoch), Report("Balanced", limits, 256, False)


def test_a_machine_that_forgets_what_tokens_spell_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotImplementedError, match="is_usable"):
        compile_balanced(monkeypatch, "partial_automaton")


def test_a_machine_of_another_language_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = compile_balanced(monkeypatch, "balanced_automaton")
    with pytest.raises(AssertionError):
        check_language(constraint, lambda text: is_balanced(text) and len(text) != 4, b"()", 6)


def test_a_broken_machine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = compile_balanced(monkeypatch, "leaky_automaton")
    with pytest.raises(AssertionError):
        check_machine(constraint)


@pytest.mark.parametrize(
    ("machine", "grammar", "vocab"),
    [*EXAMPLES, ("parts", gl.Text(until="!") + gl.JsonSchema({"type": "object", "required": ["a"]}), VOCAB)],
    ids=lambda value: repr(value)[:40],
)
def test_time_between_calls_does_not_count(
    machine: str, grammar: Grammar, vocab: gl.Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model needs minutes for a text. (The clocks of parts went on from call to call: answers ended after ten seconds.)"""
    constraint, passed, real = gl.compile(grammar, vocab), 0, time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: real() + passed)
    rng, mask = np.random.default_rng(0), gl.allocate_mask(1, vocab.size)
    for _ in range(4):
        matcher = constraint.matcher()
        for _ in range(30):
            passed += 1000
            matcher.fill_mask(mask)
            allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[: vocab.size])
            token = int(rng.choice(allowed))
            passed += 1000
            assert matcher.fork().advance_bytes(vocab.token_bytes(token)) or token in (
                *vocab.stop_ids,
                *vocab.special_ids,
            )
            passed += 1000
            assert matcher.advance(token)
            if matcher.is_finished:
                break
