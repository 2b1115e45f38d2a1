"""to_bytes and from_bytes: the same constraint again; damage is a GrammarError, and so is what no compiler would have made."""

import dataclasses
import json
import random
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars import registry
from grammarlm.grammars.compose import Difference, Grammar, Literal
from grammarlm.masks.saved import codec, sealed
from tests.counts import tiers
from tests.internals import GRAMMAR_MAGIC, GRAMMAR_VERSION
from tests.laws import vocabularies
from tests.laws.laws import assert_walk_equals_oracle
from tests.masks.saved.damaged_files import damaged
from tests.oracles.regex_oracle import Oracle

TOKENS = vocabularies.every_byte()
VOCAB = TOKENS.vocabulary()
GRAMMARS: dict[str, Grammar] = {
    "a regex": gl.Regex(r"(?:ab|b1)*_?a{3,9}"),
    "bytes": gl.Regex(rb"\xff+[\x00-\x20]"),
    "choices": gl.Choices(["abba", "", "été", "😀"]),
    "an expression": ((gl.Regex("a+") + "x") | gl.Choices(["q", "ü"])) & gl.Regex(".*") & gl.Regex("[^z]*") - "xx",
    "gbnf": gl.Gbnf('root ::= "a" root "b" | "c"'),
    "ebnf": gl.Ebnf('main ::= "x" | "[" main "]"', start="main"),
}


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
    limits = gl.Limits(max_ms=200, max_states=500, max_bytes=1 << 22, max_depth=20)
    return [gl.compile(grammar, VOCAB, limits=limits).to_bytes() for grammar in GRAMMARS.values()]


def check_damage(count: int) -> None:
    rng, sound = random.Random(count), saved()
    for _ in range(count):
        data = damaged(rng.choice(sound), rng) if rng.random() < 0.8 else rng.randbytes(rng.randint(0, 100))
        if data not in sound:
            with pytest.raises(gl.GrammarError):
                read(data)


def check_forgeries(count: int) -> int:
    """Damaged content under a right checksum: an error, or a constraint that is the one its own description makes."""
    rng, sound, loaded = random.Random(count), saved(), 0
    head = len(GRAMMAR_MAGIC) + 1
    for _ in range(count):
        content = rng.choice(sound)[head:-16]
        kept = content.index(b'{"grammar"') if rng.random() < 0.8 else 0
        try:
            constraint = read(
                sealed.seal(GRAMMAR_MAGIC, GRAMMAR_VERSION, content[:kept] + damaged(content[kept:], rng))
            )
        except gl.GrammarError:
            continue
        loaded += 1
        check_laws(constraint, rng)
    return loaded


def check_laws(constraint: gl.Constraint, rng: random.Random) -> None:
    mask = gl.allocate_mask(1, VOCAB.size)
    matcher = constraint.matcher()
    try:  # the limits may be forged too
        assert read(constraint.to_bytes()).grammar == constraint.grammar
        matcher.fill_mask(mask)
        ids = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
        assert ids
        assert matcher.advance(rng.choice(ids))
        matcher.rollback(1)
    except gl.LimitExceeded:
        return
    grammar = constraint.grammar
    if isinstance(grammar, gl.Regex) and isinstance(grammar.pattern, str) and len(grammar.pattern) < 40:
        try:
            oracle = TOKENS.token_oracle(Oracle(grammar.pattern), 100)
            oracle.completable(oracle.start)
        except Exception:  # the oracle reads fewer patterns, and only small ones
            return
        assert_walk_equals_oracle(matcher, oracle, VOCAB, rng, 2)


@tiers("count", 5_000, 100_000)
def test_damage_is_noticed(count: int) -> None:
    check_damage(count)


@tiers("count, least", (1_500, 50), (100_000, 3_000))
def test_forgeries_are_errors_or_constraints(
    count: int, least: int, record_property: Callable[[str, object], None]
) -> None:
    loaded = check_forgeries(count)
    assert loaded >= least
    record_property("loaded", loaded)
