"""Repeats of anything, nested, with and without separators: masks by an oracle of parts, and all that matchers promise.

What has no oracle of its own (Lark grammars whose last lexeme goes on into what follows, schemas with white space) is held
against the same repeat written out.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.generated import as_generated
from tests.counts import record_counts, tiers
from tests.laws.cfg_laws import view
from tests.laws.laws import allowed_ids, assert_walk_equals_oracle
from tests.laws.promises import check_promises
from tests.laws.repeat_laws import Case, assert_row, check, the_protocol_is_kept, tokens_of
from tests.laws.vocabularies import TokenList
from tests.oracles.part_texts import Either, Part, PartTexts, PartTokens, Plain, Row, Times
from tests.oracles.random_json_schemas import RandomSchemas
from tests.oracles.random_lark import RandomLark
from tests.oracles.random_repeats import KINDS
from tests.oracles.regex_oracle import Oracle


def walks_equal_the_oracle(case: Case, rng: random.Random) -> None:
    """Masks, stop ids, refusals, `validate`, forks, rollbacks, resets, bytes."""
    assert_walk_equals_oracle(case.constraint.matcher(), case.tokens(), case.vocab, rng, 8)


def promises_are_kept(case: Case, rng: random.Random) -> None:
    """Batches, trees of drafts, snapshots, saved constraints, forced text."""
    check_promises(case.constraint, rng, in_pieces=case.drawn.kind not in ("items", "mixed"))


def a_saved_one_has_equal_masks(case: Case, rng: random.Random) -> None:
    saved = gl.Constraint.from_bytes(case.constraint.to_bytes(), case.vocab)
    assert saved.grammar == case.grammar
    assert hash(saved.grammar) == hash(case.grammar)
    oracle, matcher, path = case.tokens(), saved.matcher(), list[int]()
    state = oracle.start
    for _ in range(6):
        texts = sorted(assert_row(case, matcher, oracle, state, path) - oracle.stop_ids)
        if not texts:
            break
        path.append(rng.choice(texts))
        assert matcher.advance(path[-1])
        state = oracle.after(state, path[-1])


LAWS = {
    "walks": walks_equal_the_oracle,
    "promises": promises_are_kept,
    "protocol": the_protocol_is_kept,
    "saved": a_saved_one_has_equal_masks,
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", KINDS)
@tiers("seed, count", ("few", 8), *((f"many {number}", 200) for number in range(3)))
def test_random_repeats(law: str, kind: str, seed: str, count: int, record_property: Any) -> None:
    record_counts(record_property, check(LAWS[law], kind, seed, count))


# ---------------------------------------------------------------------- written out


def written_out(part: Any, fewest: int, most: int, separator: Any = None) -> Any:
    """The same texts without a Repeat."""
    sides = [""] if fewest == 0 else []
    for count in range(max(fewest, 1), most + 1):
        row = part
        for _ in range(count - 1):
            row = row + part if separator is None else row + separator + part
        sides.append(row)
    found: Any = gl.Choices([""]) if sides[0] == "" else sides[0]
    for side in sides[1:]:
        found = found | side
    return found


def assert_same_masks(one: Any, other: Any, vocab: gl.Vocabulary, rng: random.Random, steps: int) -> int:
    first, second, rows = one.matcher(), other.matcher(), 0
    for _ in range(steps):
        assert view(first, vocab) == view(second, vocab)
        rows += 1
        texts = sorted(allowed_ids(first, vocab) - set(vocab.stop_ids))
        if not texts:
            break
        longest = sorted(texts, key=lambda t: -len(vocab.token_bytes(t)))[:12]
        token = rng.choice(longest if rng.random() < 0.5 else texts)
        assert first.advance(token)
        assert second.advance(token)
    return rows


def drawn_bodies(kind: str, seed: str) -> Any:
    lark, schemas = RandomLark(f"repeats {seed}"), RandomSchemas(f"repeats {seed}", depth=1)
    while True:
        yield gl.Lark(lark.readable()[0].text) if kind == "lark" else gl.JsonSchema(schemas.schema())


@pytest.mark.parametrize("kind", ["lark", "json"])
@tiers("seed, count", ("few", 6), ("many", 150))
def test_a_repeat_is_what_it_stands_for(kind: str, seed: str, count: int, record_property: Any) -> None:
    _, vocab = tokens_of("written out", 250)
    bodies, outcomes, rng = drawn_bodies(kind, seed), Counter(cases=count), random.Random(f"{kind} {seed}")
    for _ in range(count):
        body, (fewest, most) = next(bodies), rng.choice([(0, 1), (0, 2), (1, 3), (2, 2), (2, 3)])
        separator = rng.choice([None, ",", gl.Regex("[\n ]"), gl.Choices(["", "a"]), gl.Regex("[0-9]?")])
        try:
            once = gl.compile(gl.Repeat(body, fewest, most, separator), vocab)
            rolled = gl.compile(written_out(body, fewest, most, separator), vocab)
            outcomes["rows"] += assert_same_masks(once, rolled, vocab, rng, 10)
            outcomes["same"] += 1
        except gl.GrammarError as refusal:
            outcomes[type(refusal).__name__] += 1
        except AssertionError as broken:
            raise AssertionError(f"{body!r} {fewest} {most} {separator!r}: {broken}") from broken
    assert outcomes["same"] > count / 3, outcomes
    record_counts(record_property, outcomes)


# ---------------------------------------------------------------------- beside & and -, as generated, many


def test_repeats_beside_what_both_have() -> None:
    """`&` and `-` of regular repeats: products of the oracle's automata."""
    token_list, vocab = tokens_of("beside", 120)
    two = gl.Repeat(gl.Choices(["a", "ab"]), 1, 3, ";"), Times(Plain(Oracle("a|ab")), 1, 3, Plain(Oracle(";")))
    for sign, pattern in (("&", r"[^b]*b?[^b]*"), ("-", r"a;.*"), ("&", r".{3,6}"), ("-", r"a(;a)*")):
        grammar = two[0] & gl.Regex(pattern) if sign == "&" else two[0] - gl.Regex(pattern)
        oracle = PartTexts(two[1])
        both = oracle & Oracle(pattern) if sign == "&" else oracle - Oracle(pattern)
        matcher = gl.compile(grammar, vocab).matcher()
        for seed in range(3):
            assert_walk_equals_oracle(matcher, token_list.token_oracle(both), vocab, random.Random(seed), 8)


def test_repeats_as_generated() -> None:
    """Its schemas are written as a model writes them, within repeats and separators, and the oracle reads them so."""
    properties = {"k": {"enum": [True, "a"]}}
    schema = {"type": "object", "properties": properties, "required": ["k"], "additionalProperties": False}
    record, nothing = gl.JsonSchema(schema), gl.JsonSchema({"enum": [None]})
    made = as_generated(gl.Repeat(gl.Capture("record", record), 1, 3, nothing))
    assert made == gl.Repeat(gl.Capture("record", record.as_generated()), 1, 3, nothing.as_generated())
    line = r"(?:\n(?: {0,40}|\t{0,40}))?"
    written = rf'\{{{line}"k": ?(?:true|"a"){line}\}}'
    part = Times(Plain(Oracle(written, most_states=3000)), 1, 3, Plain(Oracle("null")))
    token_list, vocab = tokens_of("generated", 120)
    constraint = gl.compile(made, vocab)
    for seed in range(3):
        oracle = PartTokens(PartTexts(part), token_list)
        assert_walk_equals_oracle(constraint.matcher(), oracle, vocab, random.Random(seed), 10)


@pytest.mark.parametrize("most", [1000, 1 << 30])
def test_counts_are_not_unrolled(most: int) -> None:
    """A thousand lines, and where they end."""
    token_list, vocab = tokens_of("lines", 60)
    constraint = gl.compile(gl.Repeat(gl.JsonSchema({"enum": [True]}, whitespace="compact"), 2, most, "\n"), vocab)
    matcher = constraint.matcher()
    assert matcher.advance_bytes(b"\n".join([b"true"] * 998))
    newline, stops = {ord("\n")}, set(token_list.stop_ids)
    for _ in range(2):
        assert allowed_ids(matcher, vocab) == newline | stops
        assert matcher.advance_bytes(b"\ntrue")
    assert allowed_ids(matcher, vocab) == stops | (newline if most > 1000 else set())
    assert matcher.advance_bytes(b"\ntrue") is (most > 1000)


SHORT = gl.JsonSchema({"enum": [True]}, whitespace="compact")
# A turn, the repeat of it, and patterns of what stands between turns and of a turn.
FAR: dict[str, tuple[str, Callable[[int, int | None], Any], tuple[str, str]]] = {
    "lines": ("true", lambda least, most: gl.Repeat(SHORT, least, most, "\n"), ("\n", "true")),
    "side by side": ("true", lambda least, most: gl.Repeat(SHORT, least, most), ("", "true")),
    "begun by words": (
        "btrue",
        lambda least, most: gl.Repeat(
            ("a" + SHORT) | ("b" + SHORT) | ("c" + SHORT) | ("d" + SHORT) | "e", least, most, ";"
        ),
        (";", "[abcd]true|e"),
    ),
}


@pytest.mark.parametrize("name", FAR)
def test_rows_near_both_bounds(name: str) -> None:
    """Tokens of several turns, near the least and the greatest number of turns and between them."""
    text, grammar, (between, body) = FAR[name]
    row = between.join([text] * 5)
    pieces = [row[:length].encode() for length in range(2, len(row) + 1)] + [(between + row).encode()]
    tokens = [bytes([byte]) for byte in range(256)] + pieces
    token_list = TokenList([*tokens, b"</s>"], [len(tokens)], [], len(tokens) + 1)
    vocab = token_list.vocabulary()
    for least, most in ((9, 12), (0, 7), (8, None), (3, 30)):
        part = Times(Plain(Oracle(body)), least, most, Plain(Oracle(between)))
        oracle, constraint = PartTokens(PartTexts(part), token_list), gl.compile(grammar(least, most), vocab)
        for turns in range(max(0, least - 6), min(least + 8, (most or 99) - 1)):
            data = (text + between).encode() * turns
            matcher, state = constraint.matcher(), oracle.oracle.read(oracle.start, data)
            assert matcher.advance_bytes(data), (least, most, turns)
            for step in [*text.encode(), None]:
                assert allowed_ids(matcher, vocab) == oracle.mask(state), (least, most, turns, step)
                if step is not None:
                    assert matcher.advance(step)
                    state = oracle.after(state, step)


# ---------------------------------------------------------------------- the laws bite


def one_less(part: Part) -> Part:
    """The part where each repeat may be one time less often, or need not be so often, and separators are left out."""
    if isinstance(part, (Row, Either)):
        return replace(part, parts=tuple(map(one_less, part.parts)))
    if not isinstance(part, Times):
        return part
    most = part.most if part.most is None else max(part.most - 1, 0)
    return Times(one_less(part.body), max(part.fewest - 1, 0), most)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_oracle_is_caught(kind: str) -> None:
    outcomes = Counter[str]()

    def law(case: Case, rng: random.Random) -> None:
        try:
            walks_equal_the_oracle(case._replace(part=one_less(case.part)), rng)
        except (AssertionError, KeyError):
            outcomes["caught"] += 1

    check(law, kind, "wrong", 12)
    assert outcomes["caught"] >= 6
