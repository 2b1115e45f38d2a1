"""to_bytes and from_bytes: the same constraint again; damage is a GrammarError, and so is what no compiler would have made."""

import dataclasses
import json
import random
import re
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from lark.exceptions import LarkError

import grammarlm as gl
from grammarlm.grammars import registry
from grammarlm.grammars.compose import Difference, Grammar, Literal
from grammarlm.masks.saved import codec, sealed
from tests.counts import record_counts, tiers
from tests.internals import GRAMMAR_MAGIC, GRAMMAR_VERSION
from tests.laws import vocabularies
from tests.laws.cfg_laws import CfgTokenOracle, bounds, budgeted_text
from tests.laws.laws import allowed_ids, assert_walk_equals_oracle
from tests.masks.machines.stack.stack_examples import CASES
from tests.masks.saved.damaged_files import check_damage, damaged
from tests.oracles.cfg_oracle import CfgOracle
from tests.oracles.lark_oracle import LarkOracle
from tests.oracles.regex_oracle import Oracle

TOKENS = vocabularies.every_byte()
VOCAB = TOKENS.vocabulary()
INDENTED = "%declare _INDENT _DEDENT\n" + (
    'start: line+\nline: NAME _NEWLINE | NAME ":" _NEWLINE _INDENT line+ _DEDENT\nNAME: /[ab]+/\n_NEWLINE: /(\\n *)+/\n'
)
GRAMMARS: dict[str, Grammar] = {
    "a regex": gl.Regex(r"(?:ab|b1)*_?a{3,9}"),
    "bytes": gl.Regex(rb"\xff+[\x00-\x20]"),
    "choices": gl.Choices(["abba", "", "été", "😀"]),
    "an expression": ((gl.Regex("a+") + "x") | gl.Choices(["q", "ü"])) & gl.Regex(".*") & gl.Regex("[^z]*") - "xx",
    "gbnf": gl.Gbnf('root ::= "a" root "b" | [0-9]{1,3} | pair*\npair ::= "(" root "," root ")"'),
    "gbnf, left recursion": gl.Gbnf('root ::= root "+" item | item\nitem ::= "é" | [^a-z(]+ | "(" root ")"'),
    "ebnf": gl.Ebnf('main ::= "x" | "[" main ("," main)* "]" | Regex("b+a?")', start="main"),
    "gbnf beside others": gl.Gbnf('root ::= "(" root ")" | "1"') + gl.Regex("a+|b") | gl.Choices(["ab", "é"]),
    "gbnf within limits": gl.Gbnf('root ::= "a" root "b" | "1"') & gl.Regex("(a|b|1){0,9}"),
    **{name: CASES[name] for name in ("arithmetic", "c-like", "keywords", "not LALR")},
    "indented": gl.Lark(INDENTED, indent=gl.Indent()),
}
# Of what is damaged: lark, the oracle, takes ten times as long to read a grammar as the readers of the package take.
SHARES = [1 if isinstance(grammar, gl.Lark) else 4 for grammar in GRAMMARS.values()]


def read(data: bytes) -> gl.Constraint:
    return gl.Constraint.from_bytes(data, VOCAB)


def sealed_grammar(value: object, settings: object = None, fingerprint: object = VOCAB.fingerprint) -> bytes:
    if settings is None:
        settings = tuple((f.name, f.default) for f in dataclasses.fields(gl.Limits))
    return sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, codec.encode((fingerprint, settings, value)))


@pytest.mark.parametrize("kind", GRAMMARS)
def test_there_and_back(kind: str) -> None:
    limits = gl.Limits(max_ms=np.float32(500), max_states=np.int64(7000))
    saved = gl.compile(GRAMMARS[kind], VOCAB, limits=limits).to_bytes()
    again = read(saved)
    assert again.grammar == GRAMMARS[kind]
    assert again.report.limits == limits
    assert again.to_bytes() == saved
    mine, theirs, rng = gl.compile(GRAMMARS[kind], VOCAB).matcher(), again.matcher(), random.Random(kind)
    mask = gl.allocate_mask(2, VOCAB.size)
    for _ in range(8):
        assert mine.fill_mask(mask, 0) == theirs.fill_mask(mask, 1)
        assert (mask[0] == mask[1]).all()
        token = rng.choice(np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")).tolist())
        assert mine.advance(token) == theirs.advance(token)


def test_another_process_reads_it() -> None:
    code = """
import sys
import grammarlm as gl
from tests.internals import GRAMMAR_MAGIC, GRAMMAR_VERSION
vocab = gl.Vocabulary([bytes([i]) for i in range(256)] + [b"."], stop_ids=[256])
constraint = gl.Constraint.from_bytes(sys.stdin.buffer.read(), vocab)
print(constraint.grammar, constraint.matcher().forced_bytes())
"""
    vocab = gl.Vocabulary([bytes([i]) for i in range(256)] + [b"."], stop_ids=[256])
    saved = gl.compile("x" + gl.Choices(["a1", "a2"]), vocab).to_bytes()
    child = subprocess.run([sys.executable, "-c", code], input=saved, capture_output=True, check=True)
    assert child.stdout.decode() == "('x' + Choices(['a1', 'a2'])) b'xa'\n"


def test_every_public_kind_of_grammar_can_be_saved() -> None:
    public = {n for n in gl.__all__ if isinstance(getattr(gl, n), type) and issubclass(getattr(gl, n), Grammar)}
    assert {"Regex", "Choices", "Gbnf", "Ebnf"} <= public <= registry.KINDS.keys()
    for name in {*public, *codec.INNER}:
        kind = codec.kind_of(name)
        assert kind is not None
        assert kind is (getattr(gl, name) if name in public else codec.INNER[name])
        for hint in codec.fields_of(kind).values():
            assert not codec._fits(object(), hint)


def test_a_vocabulary_is_not_part_of_it() -> None:
    other = vocabularies.merged_pairs().vocabulary()
    with pytest.raises(gl.GrammarError, match="made with another vocabulary"):
        gl.Constraint.from_bytes(gl.compile(gl.Regex("a"), VOCAB).to_bytes(), other)
    with pytest.raises(TypeError, match=r"takes a gl\.Vocabulary, not list"):
        gl.Constraint.from_bytes(b"", [])


def test_grammars_that_are_not_ours_are_refused_by_name() -> None:
    class Regex(gl.Regex):
        pass

    @dataclasses.dataclass(frozen=True)
    class Odd(gl.Regex):
        more: object = None

    for grammar in (Regex("a"), Odd("a"), gl.Regex("b") | Odd("a")):
        with pytest.raises(gl.UnsupportedFeature, match=r"of the kind (Regex|Odd) cannot be saved"):
            gl.compile(grammar, VOCAB).to_bytes()


def test_depth_is_bounded_both_ways() -> None:
    grammar: Grammar = gl.Regex("a")
    for _ in range(3000):
        grammar = Difference((grammar, Literal("b")))
    with pytest.raises(gl.LimitExceeded, match="nested deeper than 2000 levels"):
        codec.encode(grammar)
    with pytest.raises(gl.GrammarError, match="nested deeper than 2000 levels"):
        read(sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, sealed.as_json([{"tuple": 1}] * 3000 + [None])))


def test_a_deep_grammar_is_over_a_limit_wherever_it_comes_from() -> None:
    grammar: Grammar = gl.Regex("a")
    for _ in range(900):
        grammar = Difference((grammar, Literal("b")))
    with pytest.raises(gl.LimitExceeded):
        read(sealed_grammar(grammar))


def raw(*values: object) -> bytes:
    """A grammar in our own hand, in sound surroundings."""
    whole = codec.encode((VOCAB.fingerprint, tuple((f.name, f.default) for f in dataclasses.fields(gl.Limits)), None))
    return sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, sealed.as_json([*json.loads(whole)[:-1], *values]))


def kind(name: str) -> object:
    return {"grammar": name}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (raw(kind("Regex"), 3), r"Regex\.pattern is no str \| bytes"),
        (raw(kind("Literal"), None), r"Literal\.text is no "),
        (raw(kind("Choices"), {"tuple": 1}, True), r"Choices\.strings is no tuple\[str"),
        (raw(kind("Sequence"), {"tuple": 0}), "fewer than two parts"),
        (raw(kind("Difference"), {"tuple": 1}, kind("Literal"), "a"), "fewer than two parts"),
        (raw(kind("Choice"), {"tuple": 2}, "a", "b"), r"Choice\.parts is no tuple"),
        (raw(kind("Combination"), {"tuple": 0}), "knows no grammars of the kind 'Combination'"),
        (raw(kind("Matcher")), "knows no grammars of the kind 'Matcher'"),
        (raw(kind("__init__")), "knows no grammars of the kind '__init__'"),
        (raw({"tuple": 10**9}), "it ends too early"),
        (raw({"tuple": -1}), "it ends too early"),
        (raw({"tuple": "3"}), "begins no value"),
        (raw({"bytes": "\xff"}), "ASCII"),
        (raw({"bytes": "YQ==", "tuple": 1}), "begins no value"),
        (raw([None]), "begins no value"),
        (raw(kind("Literal"), "a", None), "something follows its end"),
        (raw(), "it ends too early"),
        (raw(None), "no fingerprint, settings and grammar"),
        (raw(kind("Regex"), "("), r"missing \)|unterminated|\("),
        (raw(kind("Literal"), "\ud800"), "surrogate"),
        (raw(kind("Choices"), {"tuple": 0}), "nothing to choose from"),
        (sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, b"\xff"), "cannot be read"),
        (sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, b"[" * 100_000), "cannot be read"),
        (sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, b"[" + b"9" * 5_000 + b"]"), "cannot be read"),
        (sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, b"3"), "it ends too early"),
        (sealed_grammar(gl.Regex("a"), ()), r"not those of gl\.Limits"),
        (sealed_grammar(gl.Regex("a"), (1, 2, 3, 4)), r"not those of gl\.Limits"),
        (sealed_grammar(gl.Regex("a"), (("max_bytes", None),)), r"not those of gl\.Limits"),
        (sealed_grammar(gl.Regex("a"), fingerprint=3), "made with another vocabulary"),
    ],
)
def test_forged_constraints(data: bytes, problem: str) -> None:
    with pytest.raises(gl.GrammarError, match=problem):
        read(data)


@pytest.mark.parametrize("bad", [None, "many", 0, -5, float("nan"), True, 10**39 * -1, (1,), b"3"])
def test_forged_limits(bad: object) -> None:
    names = [f.name for f in dataclasses.fields(gl.Limits)]
    optional = {f.name for f in dataclasses.fields(gl.Limits) if f.default is None} if bad is None else set()
    for name in set(names) - optional:
        settings = tuple((n, bad if n == name else 1000) for n in names)
        with pytest.raises(gl.GrammarError):
            read(sealed_grammar(gl.Regex("a"), settings))


def saved() -> list[bytes]:
    limits = gl.Limits(max_ms=500, max_states=500, max_bytes=1 << 22, max_depth=20)
    return [gl.compile(grammar, VOCAB, limits=limits).to_bytes() for grammar in GRAMMARS.values()]


def flipped(data: bytes, rng: random.Random) -> bytes:
    """A bit or two the other way, or a byte that stands elsewhere: of the same length, so that more of it is read."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.randrange(len(changed))
        changed[at] = changed[at] ^ 1 << rng.randrange(8) if rng.random() < 0.5 else rng.choice(data)
    return bytes(changed)


def check_forgeries(count: int) -> Counter[str]:
    """Damaged content under a right checksum: an error, or a constraint that is the one its own description makes."""
    rng, sound, outcomes = random.Random(count), saved(), Counter(cases=count)
    head = len(GRAMMAR_MAGIC) + 1
    for _ in range(count):
        content = rng.choices(sound, SHARES)[0][head:-16]
        kept = content.index(b'{"grammar"') if rng.random() < 0.9 else 0  # mostly the fingerprint and the limits stay
        damage = flipped if rng.random() < 0.8 else damaged
        forged = sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, content[:kept] + damage(content[kept:], rng))
        try:
            constraint = read(forged)
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
    again = read(constraint.to_bytes())
    assert again.grammar == constraint.grammar
    matcher = constraint.matcher()
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
    try:
        if isinstance(grammar, gl.Regex) and isinstance(grammar.pattern, str) and len(grammar.pattern) < 40:
            masks = TOKENS.token_oracle(Oracle(grammar.pattern), 100)
            masks.completable(masks.start)
        elif isinstance(grammar, (gl.Gbnf, gl.Ebnf)) and all(int(n) < 20 for n in re.findall(r"\d+", grammar.text)):
            rules = CfgOracle(grammar.rules(lambda: None))
        else:
            return "loaded, judged by itself"
    except Exception:  # the oracles read fewer expressions, and only small ones
        return "loaded, unreadable for the oracle"
    if isinstance(grammar, gl.Regex):
        assert_walk_equals_oracle(constraint.matcher(), masks, VOCAB, rng, 2)
    else:
        assert_masks_are_between(constraint.matcher(), rules, *bounds(rules, TOKENS), rng)
        for text in texts:
            assert rules.is_complete(text), text
    return "loaded, masks judged by brute force"


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


@tiers("count", 6_000, 200_000)
def test_damage_is_noticed(count: int) -> None:
    check_damage(saved(), read, count)


@tiers("count", 1_500, *(50_000 + part for part in range(4)))  # the count seeds the damage
def test_forgeries_are_errors_or_constraints(count: int, record_property: Any) -> None:
    outcomes = check_forgeries(count)
    record_counts(record_property, outcomes)
    assert outcomes["loaded"] >= count // 30, outcomes
    assert outcomes["loaded, masks judged by brute force"] >= count // 100, outcomes
    assert outcomes["loaded, texts judged by lark"] >= count // 500, outcomes
