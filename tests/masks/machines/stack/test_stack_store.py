"""Saved constraints whose grammar has a stack, damaged: an error; under a right checksum, an error or a lawful constraint."""

import random
import re
from collections import Counter
from typing import Any

import pytest
from lark.exceptions import LarkError

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.saved import sealed
from tests.counts import record_counts
from tests.internals import GRAMMAR_MAGIC, GRAMMAR_VERSION
from tests.laws import vocabularies
from tests.laws.cfg_laws import CfgTokenOracle, bounds, budgeted_text
from tests.laws.laws import allowed_ids
from tests.masks.machines.stack.stack_examples import CASES
from tests.masks.saved.damaged_files import damaged
from tests.oracles.automata import TooManyStates
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.lark_oracle import LarkOracle
from tests.oracles.regex_oracle import UnreadablePattern

TOKENS = vocabularies.every_byte()
VOCAB = TOKENS.vocabulary()
LIMITS = gl.Limits(max_ms=500, max_states=500, max_bytes=1 << 22, max_depth=20)
INDENTED = "%declare _INDENT _DEDENT\n" + (
    'start: line+\nline: NAME _NEWLINE | NAME ":" _NEWLINE _INDENT line+ _DEDENT\nNAME: /[ab]+/\n_NEWLINE: /(\\n *)+/\n'
)
GRAMMARS: dict[str, Grammar] = {
    "gbnf": gl.Gbnf('root ::= "a" root "b" | [0-9]{1,3} | pair*\npair ::= "(" root "," root ")"'),
    "gbnf, left recursion": gl.Gbnf('root ::= root "+" item | item\nitem ::= "é" | [^a-z(]+ | "(" root ")"'),
    "ebnf": gl.Ebnf('main ::= "x" | "[" main ("," main)* "]" | Regex("b+a?")', start="main"),
    "gbnf beside others": gl.Gbnf('root ::= "(" root ")" | "1"') + gl.Regex("a+|b") | gl.Choices(["ab", "é"]),
    "gbnf within limits": gl.Gbnf('root ::= "a" root "b" | "1"') & gl.Regex("(a|b|1){0,9}"),
    **{name: CASES[name] for name in ("arithmetic", "c-like", "keywords", "not LALR")},
    "indented": gl.Lark(INDENTED, indent=gl.Indent()),
}
# lark takes ten times as long to read a grammar as the readers of the package take.
SHARES = {name: 1 if isinstance(grammar, gl.Lark) else 4 for name, grammar in GRAMMARS.items()}


@pytest.fixture(autouse=True)
def own_cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of thousands of damaged Lark grammars push nothing out of the user's folder."""
    saved()  # with the kernels, which the user's folder has
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path_factory.getbasetemp() / "grammarlm cache"))


def saved() -> dict[str, bytes]:
    return {name: gl.compile(grammar, VOCAB, limits=LIMITS).to_bytes() for name, grammar in GRAMMARS.items()}


def flipped(data: bytes, rng: random.Random) -> bytes:
    """A bit or two the other way, or a byte that stands elsewhere: of the same length, so that more of it is read."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.randrange(len(changed))
        changed[at] = changed[at] ^ 1 << rng.randrange(8) if rng.random() < 0.5 else rng.choice(data)
    return bytes(changed)


def check_damage(count: int) -> None:
    rng, sound = random.Random(f"stacks {count}"), list(saved().values())
    for _ in range(count):
        data = damaged(rng.choice(sound), rng) if rng.random() < 0.8 else rng.randbytes(rng.randint(0, 100))
        if data not in sound:
            with pytest.raises(gl.GrammarError):
                gl.Constraint.from_bytes(data, VOCAB)


def check_forgeries(count: int) -> Counter[str]:
    """What became of so many damaged descriptions under a right checksum."""
    rng, sound, outcomes = random.Random(f"forged stacks {count}"), saved(), Counter(cases=count)
    names, shares = list(SHARES), list(SHARES.values())
    head = len(GRAMMAR_MAGIC) + 1
    for _ in range(count):
        content = sound[rng.choices(names, shares)[0]][head:-16]
        kept = content.index(b'{"grammar"') if rng.random() < 0.9 else 0  # mostly the fingerprint and the limits stay
        damage = flipped if rng.random() < 0.8 else damaged
        forged = sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, content[:kept] + damage(content[kept:], rng))
        try:
            constraint = gl.Constraint.from_bytes(forged, VOCAB)
        except gl.GrammarError as error:
            outcomes[type(error).__name__] += 1
            continue
        outcomes["loaded"] += 1
        try:
            outcomes[check_laws(constraint, rng)] += 1
        except gl.LimitExceeded:  # the limits may be forged too
            outcomes["loaded, over a limit later"] += 1
        except AssertionError as broken:
            raise AssertionError(f"{constraint.grammar!r}: {broken}") from broken
    return outcomes


def check_laws(constraint: gl.Constraint, rng: random.Random) -> str:
    """Who else judged the constraint: an oracle of masks, an oracle of texts, or nobody."""
    again, grammar = gl.Constraint.from_bytes(constraint.to_bytes(), VOCAB), constraint.grammar
    assert again.grammar == grammar
    matcher, texts = constraint.matcher(), []
    for _ in range(3):
        allowed = allowed_ids(matcher, VOCAB)
        assert allowed, "an empty mask"
        assert matcher.is_accepting is bool(allowed & set(VOCAB.stop_ids))
        for token in rng.sample(range(VOCAB.size), 5):
            assert matcher.validate([token]) == (token in allowed), token
        token = rng.choice(sorted(allowed))
        assert matcher.advance(token)
        matcher.rollback(1)
        assert allowed_ids(matcher, VOCAB) == allowed
        if token in VOCAB.stop_ids:
            break
        assert matcher.advance(token)
    texts = [budgeted_text(again, again.matcher().min_tokens_left + more, [], rng) for more in (0, 4)]
    for text in texts:
        reader = constraint.matcher()
        assert reader.advance_bytes(text), text
        assert reader.is_accepting, text
    return judged(constraint, texts, rng)


def judged(constraint: gl.Constraint, texts: list[bytes], rng: random.Random) -> str:
    grammar = constraint.grammar
    if isinstance(grammar, gl.Lark) and grammar.indent is None:
        try:
            oracle = LarkOracle(grammar.text, grammar.start)
        except LarkError as error:
            raise AssertionError("lark refuses it") from error
        for text in texts:
            assert oracle.accepts(text.decode()), text
        return "loaded, texts judged by lark"
    if isinstance(grammar, (gl.Gbnf, gl.Ebnf)) and all(int(n) < 20 for n in re.findall(r"\d+", grammar.text)):
        try:
            rules = CfgOracle(grammar.rules(lambda: None))
        except (TooManyStates, UnreadablePattern, ValueError):
            return "loaded, unreadable for the oracle"
        lower, upper = bounds(rules, TOKENS)
        assert_masks_are_between(constraint.matcher(), rules, lower, upper, rng)
        for text in texts:
            assert rules.is_complete(text), text
        return "loaded, masks judged by brute force"
    return "loaded, judged by itself"


def assert_masks_are_between(
    matcher: Any, rules: CfgOracle, lower: CfgTokenOracle, upper: CfgTokenOracle, rng: random.Random
) -> None:
    state = rules.start
    for _ in range(3):
        assert state is not None
        allowed = allowed_ids(matcher, VOCAB)
        assert lower.mask(state) <= allowed <= upper.mask(state), sorted(allowed ^ upper.mask(state))[:9]
        following = sorted(allowed - set(VOCAB.stop_ids))
        if not following:
            return
        token = rng.choice(following)
        assert matcher.advance(token)
        state = rules.read(state, TOKENS.tokens[token])


def test_damage_is_noticed() -> None:
    check_damage(3_000)


def test_forgeries_are_errors_or_constraints() -> None:
    outcomes = check_forgeries(600)
    assert outcomes["loaded"] >= 15, outcomes
    assert outcomes["loaded, masks judged by brute force"], outcomes


@pytest.mark.proof
def test_much_damage_is_noticed(record_property: Any) -> None:
    check_damage(100_000)
    record_property("cases", 100_000)


@pytest.mark.proof
@pytest.mark.parametrize("part", range(4))
def test_many_forgeries_are_errors_or_constraints(part: int, record_property: Any) -> None:
    outcomes = check_forgeries(25_000 + part)  # the count seeds the damage
    record_counts(record_property, outcomes)
    assert outcomes["loaded, masks judged by brute force"] >= 500, outcomes
    assert outcomes["loaded, texts judged by lark"] >= 250, outcomes
