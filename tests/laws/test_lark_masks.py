"""Masks of random Lark grammars, against stock lark.

A token is allowed where a text that lark accepts begins with what it makes, forbidden where not even the grammar
without a lexer has such a text, and stop ids are allowed exactly after texts that lark accepts. Where neither proof is
at hand the token may be either; that is rare, and dead ends among those show as masks that end up empty.
"""

import contextlib
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars import ordered
from grammarlm.masks.stack import lexing
from grammarlm.masks.stack.trust import Trust
from tests.laws.cfg_laws import (
    assert_advance_agrees,
    assert_batch_of_three,
    assert_budgets_finish,
    assert_rollback_undoes,
    assert_threads_agree,
    budgeted_text,
    least_budget,
    spelling_tokens,
)
from tests.laws.cfg_vocabularies import VOCABULARIES
from tests.laws.laws import allowed_ids
from tests.laws.test_lark_agrees import HAND_WRITTEN
from tests.laws.vocabularies import TokenList
from tests.oracles.lark_oracle import LarkOracle, Witnesses
from tests.oracles.random_lark import RandomLark

pytestmark = pytest.mark.skipif(not hasattr(gl, "Lark"), reason="gl.Lark is not there yet")

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
        raise AssertionError(f"more than {_PATIENCE} s, and the oracle was not at work")

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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


def spend(constraint: Any, witnesses: Witnesses, token_list: TokenList, rng: random.Random, steps: int) -> Counter[str]:
    """The law of budgets, along a walk: what the matcher itself finishes, lark accepts.

    That holds above all for tokens which are allowed though no completion was found here: there the matcher must know one.
    """
    counts, matcher, vocab, tokens = Counter[str](), constraint.matcher(), token_list.vocabulary(), list[int]()
    assert_budgets_finish(constraint, lambda data: witnesses.oracle.accepts(data.decode()), token_list, rng)
    for _ in range(steps):
        text = b"".join(token_list.tokens[token] for token in tokens)
        allowed = allowed_ids(matcher, vocab) - set(token_list.stop_ids)
        unproved = sorted(allowed - judged_mask(witnesses, text, token_list)[0])
        for token in rng.sample(unproved, min(4, len(unproved))):
            begin = [*tokens, token]
            finished = budgeted_text(constraint, least_budget(constraint, begin), begin, token_list, rng)
            assert witnesses.oracle.accepts(finished.decode()), (text, token_list.tokens[token], finished)
        counts += Counter({"allowed, finished by the matcher alone": len(unproved)})
        if not allowed:
            break
        tokens.append(rng.choice(sorted(allowed)))
        matcher.advance(tokens[-1])
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


@pytest.mark.parametrize("name", NAMES)
def test_masks_of_random_grammars(name: str) -> None:
    check_many(name, "few", 4, 4)


@pytest.mark.parametrize("grammar", ["keyword and name", "ends of numbers", "not LALR"])
def test_masks_of_hand_written_grammars(grammar: str) -> None:
    text, alphabet = HAND_WRITTEN[grammar]
    assert check(text, alphabet, LarkOracle(text), "pieces", 4)["walked"]


@pytest.mark.proof
@pytest.mark.parametrize("name", NAMES)
def test_masks_of_many_random_grammars(name: str, record_property) -> None:
    for outcome, count in sorted(check_many(name, "many", 200, 12).items()):
        record_property(outcome, count)


@pytest.mark.proof
@pytest.mark.parametrize("grammar", HAND_WRITTEN)
def test_masks_of_all_hand_written_grammars(grammar: str) -> None:
    text, alphabet = HAND_WRITTEN[grammar]
    for name in NAMES:
        outcomes = check(text, alphabet, LarkOracle(text), name, 12)
        assert outcomes["walked"] or outcomes["looks around"], (name, outcomes)


@pytest.mark.parametrize("name", NAMES)
def test_budgets(name: str) -> None:
    check_many(name, "budgets", 4, 2, spend)


@pytest.mark.proof
@pytest.mark.parametrize("name", NAMES)
def test_many_budgets(name: str, record_property) -> None:
    for outcome, count in sorted(check_many(name, "many budgets", 200, 5, spend).items()):
        record_property(outcome, count)


# Grammars whose every viable beginning needs at most this many characters of the alphabet: there a beginning that no
# short text begins with is dead, whatever made it so, the cuts of the lexer included.
BOUNDED = [
    ('start: A "b" | A "a" "c"\nA: /a+/', "abc", 2, 6),
    ('start: (KEY | NAME "=")*\nKEY: "if"\nNAME: /[if]+/', "if=", 2, 6),
    ('start: FLOAT ".." | INT "." INT\nINT: /1+/\nFLOAT: /1+\\.1*/', "1.", 4, 7),
    ('start: A B? "!"\nA: /a.*?b/\nB: /b+/', "ab!", 3, 6),
    ('start: x "b" "c" | y "b" "d"\nx: A\ny: A "b"\nA: /ab?/', "abcd", 3, 6),
]


@pytest.mark.parametrize(("grammar", "alphabet", "completion", "longest"), BOUNDED)
def test_dead_ends_of_the_lexer(grammar: str, alphabet: str, completion: int, longest: int) -> None:
    """Each beginning that is short enough to be judged is read iff it is viable."""
    beginnings = LarkOracle(grammar).prefixes(alphabet, longest, completion)
    vocab = VOCABULARIES["bytes"].vocabulary()
    matcher, queue, counts = gl.compile(gl.Lark(grammar), vocab).matcher(), [""], Counter[str]()
    for text in queue:
        allowed = matcher.advance_bytes(text.encode())
        verdict = beginnings.verdict(text)
        counts[verdict] += 1
        assert verdict == "unknown" or allowed is (verdict == "viable"), (text, verdict)
        matcher.reset()
        queue += [text + character for character in alphabet] if len(text) < longest - completion else []
    assert counts["dead"]
    assert counts["viable"]
    assert not counts["unknown"]


@pytest.fixture
def every_terminal_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of terminals whose positions cannot all be visited, for small ones: it stops behind a position or two."""
    monkeypatch.setattr(ordered, "LARGE", 0)
    monkeypatch.setattr(lexing, "ENOUGH", 1)
    monkeypatch.setattr(lexing, "AT_MOST", 2)
    monkeypatch.setattr(Trust, "_recall", lambda trust: False)
    monkeypatch.setattr(Trust, "_remember", lambda trust: None)
    monkeypatch.setattr(Trust, "_refuse_what_is_too_large", lambda trust: None)


@pytest.mark.parametrize(("grammar", "alphabet", "completion", "longest"), BOUNDED)
@pytest.mark.usefixtures("every_terminal_is_large")
def test_dead_ends_of_large_terminals(grammar: str, alphabet: str, completion: int, longest: int) -> None:
    test_dead_ends_of_the_lexer(grammar, alphabet, completion, longest)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("every_terminal_is_large")
def test_masks_of_large_terminals(name: str) -> None:
    check_many(name, "large", 3, 4)


@pytest.mark.proof
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("every_terminal_is_large")
def test_masks_of_many_large_terminals(name: str, record_property) -> None:
    for outcome, count in sorted(check_many(name, "many large", 60, 6).items()):
        record_property(outcome, count)


@pytest.mark.parametrize("grammar", ["keyword and name", "numbers and space", "not LALR"])
def test_eight_threads(grammar: str) -> None:
    text = HAND_WRITTEN[grammar][0]
    vocab = VOCABULARIES["pieces"].vocabulary()
    assert_threads_agree(lambda: gl.compile(gl.Lark(text), vocab), vocab, grammar, 20)


@pytest.mark.parametrize(
    "grammar",
    [
        'start: A "a"\nA: /a+/',
        'start: start "a"',
        'start: A start\nA: "a"',
        'start: "a" x\nx: "b" x | y\ny: x "c"',
        'start: start\n%ignore " "',
        'start: (A | B) "!"\nA: /a.*/\nB: /b.*/',
    ],
)
def test_a_grammar_without_texts_is_unsatisfiable(grammar: str) -> None:
    """Be it that rules never end, or that the lexer never cuts a text as the rules have it."""
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Lark(grammar), VOCABULARIES["bytes"].vocabulary())
