"""The laws of masks for Lark grammars, judged by what stock lark accepts: one grammar, or many random ones."""

import contextlib
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import grammarlm as gl
from tests.laws.cfg_laws import (
    assert_advance_agrees,
    assert_batch_of_three,
    assert_rollback_undoes,
    spelling_tokens,
)
from tests.laws.cfg_vocabularies import VOCABULARIES
from tests.laws.laws import allowed_ids
from tests.laws.vocabularies import TokenList
from tests.oracles.lark_oracle import LarkOracle, Witnesses
from tests.oracles.random_lark import RandomLark

NAMES = ["bytes", "pieces", "hostile"]
Laws = Callable[[Any, Witnesses, TokenList, random.Random, int], Counter[str]]

_MOST_REFUSED = 0.02
_PATIENCE, _MOST_SLOW = (
    60,
    0.05,
)  # seconds for a grammar: lark's Earley parser takes hours for a few; how many may be left so
# Of the tokens that a grammar without a lexer could read, how many may stay without a proof: mostly cuts of the lexer.
_MOST_UNKNOWN = 0.3


class OracleIsSlow(Exception):
    """lark has not told in time what it accepts."""


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """Stops what takes too long: OracleIsSlow where the oracle is at work then, AssertionError where it is the engine."""

    def stop(number: int, frame: Any) -> None:
        while frame is not None:
            if "/lark/" in frame.f_code.co_filename or "oracles" in frame.f_code.co_filename:
                raise OracleIsSlow
            frame = frame.f_back
        raise AssertionError(f"more than {_PATIENCE} s of processor time, and the oracle was not at work")

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _PATIENCE)  # processor time: other programs may be running
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judged_mask(witnesses: Witnesses, text: bytes, token_list: TokenList) -> tuple[set[int], set[int]]:
    """The tokens that must be allowed after a text, and those that may be: stop ids are in both or in neither."""
    never = {*token_list.stop_ids, *token_list.special_ids}
    verdicts = {
        token: witnesses.verdict(text + data)
        for token, data in enumerate(token_list.tokens)
        if data and token not in never
    }
    try:
        stops = set(token_list.stop_ids) if witnesses.oracle.accepts(text.decode()) else set()
    except UnicodeDecodeError:
        stops = set()
    must = {token for token, verdict in verdicts.items() if verdict == "viable"}
    may = {token for token, verdict in verdicts.items() if verdict != "dead"}
    return must | stops, may | stops


def assert_mask_is_judged(
    matcher: Any, witnesses: Witnesses, text: bytes, token_list: TokenList, vocab: gl.Vocabulary
) -> Counter[str]:
    """One mask; of the tokens that may follow, how many are proved viable and how many are without a proof."""
    must, may = judged_mask(witnesses, text, token_list)
    allowed = allowed_ids(matcher, vocab)
    shown = {token: token_list.tokens[token] for token in [*sorted(allowed - may)[:5], *sorted(must - allowed)[:5]]}
    assert must <= allowed <= may, (text, "missing", sorted(must - allowed), "wrong", sorted(allowed - may), shown)
    assert allowed, text
    assert matcher.is_accepting is bool(must & set(token_list.stop_ids)), text
    return Counter(proved=len(must), unproved=len(may - must))


def walk(constraint: Any, witnesses: Witnesses, token_list: TokenList, rng: random.Random, steps: int) -> Counter[str]:
    """All laws that hold without an oracle of masks, and the judged masks, along a walk over allowed tokens."""
    matcher, vocab, text, counts = constraint.matcher(), token_list.vocabulary(), b"", Counter[str]()
    for step in range(steps):
        counts += assert_mask_is_judged(matcher, witnesses, text, token_list, vocab)
        if step % 3 == 0:
            assert_advance_agrees(matcher, vocab)
            assert_rollback_undoes(matcher, vocab, rng)
            assert_batch_of_three(matcher, vocab, rng)
        following = sorted(allowed_ids(matcher, vocab) - set(token_list.stop_ids))
        if not following:
            break
        token = rng.choice(following)
        assert matcher.advance(token) is True
        text += token_list.tokens[token]
        assert_some_end(matcher.fork(), witnesses, text)
    return counts


def assert_some_end(fork: Any, witnesses: Witnesses, text: bytes) -> None:
    """Where a completion is known it can be read to its end, and there the text may end."""
    if (whole := witnesses.witness(text)) is not None:
        assert fork.advance_bytes(whole.encode()[len(text) :]) is True, (text, whole)
        assert fork.is_accepting is True, (text, whole)


def check(text: str, alphabet: str, oracle: LarkOracle, name: str, steps: int, laws: Laws = walk) -> Counter[str]:
    """One grammar with one vocabulary; counts of outcomes and of judged tokens."""
    token_list, rng = VOCABULARIES[name], random.Random(f"{text} {name}")
    if oracle.superset is None:
        return Counter({"looks around": 1})
    assert oracle.superset.productions.bytes_used() <= {
        data[0] for data in spelling_tokens(token_list) if len(data) == 1
    }
    try:
        with patience():
            return look(text, alphabet, oracle, name, token_list, rng, steps, laws)
    except OracleIsSlow:
        return Counter({"left: the oracle is slow": 1})


def look(
    text: str,
    alphabet: str,
    oracle: LarkOracle,
    name: str,
    token_list: TokenList,
    rng: random.Random,
    steps: int,
    laws: Laws,
) -> Counter[str]:
    witnesses = Witnesses(oracle, alphabet, rng)
    try:
        constraint = gl.compile(gl.Lark(text), token_list.vocabulary())
    except gl.UnsatisfiableGrammar:
        assert witnesses.witness(b"") is None, f"lark accepts {witnesses.witness(b'')!r} of {text}"
        return Counter(unsatisfiable=1)
    except (gl.UnsupportedFeature, gl.LimitExceeded):
        return Counter(refused=1)
    try:
        return laws(constraint, witnesses, token_list, rng, steps) + Counter(walked=1)
    except gl.LimitExceeded:
        return Counter(refused=1)
    except AssertionError as broken:
        raise AssertionError(f"{broken}\n{name} ({oracle.route}):\n{text}") from broken


def check_many(name: str, seed: str, count: int, steps: int, laws: Laws = walk) -> Counter[str]:
    drawn, outcomes = RandomLark(f"masks {seed} {name}"), Counter[str]()
    for _ in range(count):
        grammar, oracle = drawn.readable()
        while oracle.superset is None:  # it looks around: the oracle has no productions to judge masks by
            grammar, oracle = drawn.readable()
        outcomes += check(grammar.text, grammar.alphabet, oracle, name, steps, laws)
    assert outcomes["refused"] <= max(1, _MOST_REFUSED * count), outcomes
    assert outcomes["left: the oracle is slow"] <= _MOST_SLOW * count, outcomes
    assert outcomes["walked"] > count / 2, outcomes
    assert outcomes["unproved"] <= _MOST_UNKNOWN * (outcomes["proved"] + outcomes["unproved"]), outcomes
    return outcomes
