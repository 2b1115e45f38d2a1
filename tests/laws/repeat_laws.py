"""Random grammars of repeats and parts, compiled, and what a law needs of each: its oracle, and bounds of its deadlines."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import grammarlm as gl
from tests.laws.laws import allowed_ids
from tests.laws.vocabularies import TokenList
from tests.masks.machines.machine_law import check_full, check_machine
from tests.oracles.automata import Automaton, State, TooManyStates
from tests.oracles.part_texts import Part, PartTexts, PartTokens, Plain
from tests.oracles.random_parts import crossing_tokens
from tests.oracles.random_repeats import RandomRepeats

MOST_REFUSED = 0.35  # by name: ordinary tokens by their ids beside schemas, and what is too ambiguous for a stack


@lru_cache(8)
def tokens_of(seed: str, count: int = 150) -> tuple[TokenList, gl.Vocabulary]:
    token_list = crossing_tokens(seed, count)
    return token_list, token_list.vocabulary()


class Case(NamedTuple):
    """A grammar that is compiled, and what reads its texts."""

    number: int
    grammar: Any
    constraint: gl.Constraint
    part: Part
    token_list: TokenList
    drawn: RandomRepeats

    @property
    def vocab(self) -> gl.Vocabulary:
        return self.constraint.vocab

    def texts(self) -> PartTexts:
        never = {*self.token_list.stop_ids, *self.token_list.special_ids}
        spelled = {i: data for i, data in enumerate(self.token_list.tokens) if data and i not in never}
        return PartTexts(self.part, spelled)

    def tokens(self, fewest: Callable[[Plain, State], int] | None = None) -> PartTokens:
        return PartTokens(self.texts(), self.token_list, fewest)


def cases(kind: str, seed: str, count: int, outcomes: Counter[str]) -> Iterator[Case]:
    """Random grammars of a kind; those without a text are refused as such, and no others."""
    token_list, vocab = tokens_of(seed)
    drawn = RandomRepeats(seed, kind, token_list)
    for number in range(count):
        grammar, part = drawn.draw()
        has_text = PartTexts(part).start is not None
        try:
            constraint = gl.compile(grammar, vocab)
        except gl.UnsatisfiableGrammar:
            assert not has_text, (number, grammar)
            outcomes["no text"] += 1
        except (gl.UnsupportedFeature, gl.LimitExceeded) as refusal:
            outcomes[type(refusal).__name__] += 1
        else:
            assert has_text, (number, grammar)
            yield Case(number, grammar, constraint, part, token_list, drawn)
    refused = outcomes["UnsupportedFeature"] + outcomes["LimitExceeded"]
    assert refused <= max(1, MOST_REFUSED * count), outcomes


def check(
    law: Callable[[Case, random.Random], Mapping[str, int] | None], kind: str, seed: str, count: int
) -> Counter[str]:
    """The law for each of some random grammars."""
    outcomes = Counter(cases=count)
    for case in cases(kind, seed, count, outcomes):
        try:
            outcomes.update(law(case, random.Random(f"{seed} {case.number}")) or {})
            outcomes["kept"] += 1
        except TooManyStates:
            outcomes["too many states"] += 1
        except (gl.LimitExceeded, gl.UnsupportedFeature) as refusal:  # with less room than it was compiled with
            outcomes[type(refusal).__name__] += 1
        except AssertionError as broken:
            raise AssertionError(f"{kind} {seed} {case.number}: {written(case.grammar)}: {broken}") from broken
    assert outcomes["kept"] > count / 2, outcomes
    return outcomes


def written(grammar: Any) -> str:
    """The whole grammar, where a repr is brief."""
    inner = list(map(written, grammar.operands))
    if isinstance(grammar, gl.Repeat):
        return f"Repeat({inner[0]}, {grammar.min}, {grammar.max}{''.join(f', {each}' for each in inner[1:])})"
    if hasattr(grammar, "sign"):
        return f"({f' {grammar.sign} '.join(inner)})"
    return inner[0] if inner else repr(grammar)


class Bounds:
    """How many tokens are known to end a text with a deadline: what a matcher of the same text without one says."""

    def __init__(self, case: Case):
        self._case = case
        self._constraints: dict[Automaton, gl.Constraint] = {}
        self._bytes: dict[Automaton, dict[State, bytes]] = {}
        self._known: dict[tuple[Automaton, State], int] = {}

    def __call__(self, part: Plain, state: State) -> int:
        automaton = part.automaton
        if (automaton, state) not in self._known:
            if automaton not in self._constraints:
                self._constraints[automaton] = gl.compile(self._case.drawn.untimed[automaton], self._case.vocab)
                self._bytes[automaton] = {automaton.start: b""}
            matcher = self._constraints[automaton].matcher()
            assert matcher.advance_bytes(self._leading_to(automaton, state))
            self._known[automaton, state] = matcher.min_tokens_left
        return self._known[automaton, state]

    def _leading_to(self, automaton: Automaton, state: State) -> bytes:
        found = self._bytes[automaton]
        waiting = [] if state in found else list(found)
        for here in waiting:
            for byte in range(256):
                after = automaton.step(here, byte)
                if after is not None and after not in found:
                    found[after] = found[here] + bytes([byte])
                    waiting.append(after)
        return found[state]


def assert_row(case: Case, matcher: Any, oracle: PartTokens, state: State, path: list[int]) -> set[int]:
    """The ids that may come, as the oracle has them; stop ids iff the text is complete."""
    allowed, expected = allowed_ids(matcher, case.vocab), oracle.mask(state)
    if allowed != expected:
        tokens = oracle.texts
        wrongly = [(token, tokens.get(token)) for token in sorted(allowed - expected)[:6]]
        missing = [(token, tokens.get(token)) for token in sorted(expected - allowed)[:6]]
        raise AssertionError(f"after {[tokens.get(t, t) for t in path]}: wrongly allowed {wrongly}, missing {missing}")
    return allowed


def the_protocol_is_kept(case: Case, rng: random.Random) -> None:
    """What all machines have in common; epochs that are full after a few states."""
    check_machine(case.constraint, walks=2, steps=5)
    if case.drawn.kind not in ("regular", "ruled"):  # whose whole tables are larger than an epoch of few states
        check_full(case.grammar, case.vocab, walks=2, steps=6, most=64)
