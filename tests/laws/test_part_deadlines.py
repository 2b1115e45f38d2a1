"""Texts with a deadline, `Text(until=..., max_tokens=k)`: at most k tokens have bytes of this part, and its marker ends within
them.

A token is allowed iff what is known to be enough afterwards is left: what a matcher of this text alone says.
"""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.cfg_laws import view
from tests.laws.laws import allowed_ids
from tests.laws.promises import check_promises
from tests.laws.repeat_laws import Bounds, Case, assert_row, check, the_protocol_is_kept, tokens_of
from tests.oracles.part_texts import Either, Part, Plain, Row, Times
from tests.oracles.random_repeats import TIMED


def rows_obey_deadlines(case: Case, rng: random.Random) -> None:
    """Rows are the oracle's by what is known to be enough; by what is enough in truth nothing is allowed that it has not."""
    matcher, path = case.constraint.matcher(), list[int]()
    oracle, widest = case.tokens(Bounds(case)), case.tokens()
    state, most = oracle.start, widest.start
    for _ in range(8):
        allowed = assert_row(case, matcher, oracle, state, path)
        assert allowed <= widest.mask(most), path
        refused = sorted(set(oracle.texts) - allowed)
        assert not any(matcher.advance(token) for token in rng.sample(refused, min(4, len(refused)))), path
        assert all(matcher.fork().advance(token) for token in rng.sample(sorted(allowed), min(6, len(allowed)))), path
        texts = sorted(allowed - oracle.stop_ids)
        if not texts:
            break
        path.append(rng.choice(texts))
        assert matcher.advance(path[-1]), path
        state, most = oracle.after(state, path[-1]), widest.after(most, path[-1])
        if len(path) > 1 and rng.random() < 0.2:
            fork = matcher.fork()
            fork.rollback(len(path))
            assert all(map(fork.advance, path))
            assert view(fork, case.vocab) == view(matcher, case.vocab), path


def bytes_of_a_token_are_one_token(case: Case, rng: random.Random) -> None:
    """Read by its bytes a token leads where it leads by its id, and is refused where it is, whatever parts it crosses."""
    texts, matcher = case.tokens().texts, case.constraint.matcher()
    for _ in range(6):
        allowed = allowed_ids(matcher, case.vocab)
        for token in {
            *rng.sample(sorted(texts), 12),
            *rng.sample(sorted(allowed & set(texts)), min(8, len(allowed & set(texts)))),
        }:
            by_id, by_bytes = matcher.fork(), matcher.fork()
            assert by_id.advance(token) is by_bytes.advance_bytes(texts[token]) is (token in allowed), texts[token]
            assert view(by_id, case.vocab) == view(by_bytes, case.vocab), texts[token]
        following = sorted(allowed & set(texts))
        if not following:
            break
        assert matcher.advance(rng.choice(following))


def deadlines_are_kept_everywhere(case: Case, rng: random.Random) -> None:
    """Batches, trees, snapshots, saved constraints, forced text, with budgets and without."""
    check_promises(case.constraint, rng, in_pieces=False)


DEADLINES = {
    "rows": rows_obey_deadlines,
    "bytes": bytes_of_a_token_are_one_token,
    "promises": deadlines_are_kept_everywhere,
    "protocol": the_protocol_is_kept,
}


@pytest.mark.parametrize(
    ("law", "kind"),
    [(law, kind) for law in DEADLINES for kind in TIMED if (law, kind) != ("bytes", "all")],  # items are no bytes
)
@tiers("seed, count", ("few", 10), *((f"many {number}", 200) for number in range(3)))
def test_random_deadlines(law: str, kind: str, seed: str, count: int, record_property: Any) -> None:
    record_counts(record_property, check(DEADLINES[law], kind, seed, count))


LINE = gl.JsonSchema(
    {"type": "object", "properties": {"k": {"enum": ["ab", True]}}, "required": ["k"], "additionalProperties": False}
)
MARKER = "<>"


def tokens_of_the_text(path: list[bytes]) -> int:
    """How many tokens have bytes of what ends with the first marker."""
    end, read = b"".join(path).index(MARKER.encode()) + len(MARKER), 0
    for count, data in enumerate(path, 1):
        read += len(data)
        if read >= end:
            return count
    raise AssertionError("no marker")


@pytest.mark.parametrize("most", [2, 3, 5, 9])
@tiers("seed, walks", ("few", 12), ("many", 400))
def test_the_marker_is_written_within_its_deadline(most: int, seed: str, walks: int) -> None:
    """By counting in the text itself: from the beginning of a thought, of the second one of a repeat, and within a budget."""
    _, vocab = tokens_of("thoughts", 200)
    thought = gl.Text(until=MARKER, max_tokens=most)
    rng, last = random.Random(f"{most} {seed}"), 0
    constraint = gl.compile(thought + LINE, vocab)
    least = constraint.matcher().min_tokens_left
    for walk in range(walks):
        budget = rng.choice([None, least, least + 1, least + 6])
        matcher, path = constraint.matcher(max_tokens=budget), list[bytes]()
        while not matcher.is_accepting:
            allowed = sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))
            assert allowed, path
            ending = [t for t in allowed if MARKER.encode() in b"".join(path) + vocab.token_bytes(t)]
            late = [t for t in allowed if t not in ending]
            far = MARKER.encode() not in b"".join(path)
            token = rng.choice(late if far and late and walk % 2 else allowed)
            path.append(vocab.token_bytes(token))
            assert matcher.advance(token)
            assert len(path) < 300
        assert tokens_of_the_text(path) <= most, path
        last = max(last, tokens_of_the_text(path))
        assert budget is None or len(path) <= budget, path
    assert last == most, "no walk came near the deadline"


def test_a_deadline_that_no_marker_keeps() -> None:
    _, vocab = tokens_of("thoughts", 200)
    needed = gl.compile(gl.Text(until="</thought>"), vocab).matcher().min_tokens_left
    short = gl.Text(until="</thought>", max_tokens=needed - 1)
    for grammar in (short, short + LINE, gl.Repeat(short + LINE, 1)):
        with pytest.raises(gl.UnsatisfiableGrammar, match=rf"max_tokens={needed - 1}.* {needed} ") as caught:
            gl.compile(grammar, vocab)
        assert len(str(caught.value)) <= 500
    gl.compile(gl.Text(until="</thought>", max_tokens=needed) + LINE, vocab)


CROSSING = ['"ab"x', '"x', ">xy", ";ab;", 'ab"x', "<>", "x<>"]


def test_a_token_counts_once_in_each_part_that_it_has_bytes_of() -> None:
    """However many tokens its bytes would be by themselves."""
    tokens = [bytes([byte]) for byte in range(256)] + [text.encode() for text in CROSSING]
    vocab = gl.Vocabulary([*tokens, b"</s>"], stop_ids=[len(tokens)], special_ids=[len(tokens)])
    word = gl.JsonSchema({"enum": ["ab"]}, whitespace="compact")
    for grammar, read, token in (
        (word + gl.Text(max_tokens=1), '"ab', '"ab"x'),
        (word + gl.Text(until="x", max_tokens=1), '"ab', '"ab"x'),
        (gl.Text(until="<>", max_tokens=2) + gl.Text(max_tokens=1), "<", ">xy"),
        (gl.Repeat(gl.Text(until=";", max_tokens=1)), "", ";ab;"),
    ):
        matcher = gl.compile(grammar, vocab).matcher()
        assert all(map(matcher.advance, read.encode())), grammar
        chosen = tokens.index(token.encode())
        assert chosen in allowed_ids(matcher, vocab), grammar
        assert matcher.advance(chosen), grammar
        assert allowed_ids(matcher, vocab)


def later(part: Part) -> Part:
    """The part with deadlines that are a token later."""
    if isinstance(part, Plain):
        return part if part.most_tokens is None else replace(part, most_tokens=part.most_tokens + 1)
    if isinstance(part, (Row, Either)):
        return replace(part, parts=tuple(map(later, part.parts)))
    return replace(part, body=later(part.body)) if isinstance(part, Times) else part


def test_a_later_deadline_is_caught() -> None:
    outcomes = Counter[str]()

    def law(case: Case, rng: random.Random) -> None:
        try:
            rows_obey_deadlines(case._replace(part=later(case.part)), rng)
        except AssertionError:
            outcomes["caught"] += 1

    check(law, "timed", "late", 24)
    assert outcomes["caught"] >= 5
