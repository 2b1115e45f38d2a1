"""Rows of repeats, regular, with rules, beside schemas: against every way of filling them in, read by the oracle of parts."""

import random
from collections import Counter
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.vocabularies import TokenList
from tests.masks.canvas.canvas_law import Case
from tests.masks.canvas.substituted import check_partial
from tests.oracles.part_texts import PartTexts, PartTokens
from tests.oracles.random_repeats import Counts, RandomRepeats

TRIED = b'abx;<>()"[],]{}:ktruenl\xc3\xa9'  # what these bytes spell is looked at; of others there are too many
PIECES = b'ab "a" true {"k": ]; a;" <>x ]true "ab" "; x) (( ["a" null b;ab'.split()
TOKENS = [b"?", *(bytes([byte]) for byte in range(256)), *PIECES, b"."]
STOP = len(TOKENS) - 1
LONGEST = 8
COUNTS: dict[str, list[Counts]] = {  # around schemas bounds are refused by name
    "regular": [(0, None), (1, None), (0, 1), (1, 3), (2, 2), (0, 0), (3, 5)],
    "ruled": [(0, None), (1, None), (0, 1), (1, 3), (2, 2), (0, 0)],
    "json": [(0, None), (1, None)],
}


def text_of(oracle: PartTokens, rng: random.Random) -> list[int] | None:
    """The tokens of a text, mostly of those that are tried."""
    state, row, found = oracle.start, list[int](), None
    while len(row) <= LONGEST:
        if oracle.oracle.accepts(state):
            found = list(row)
            if rng.random() < 0.3:
                break
        following = [token for token in sorted(oracle.moves(state)) if not TOKENS[token].strip(TRIED)]
        if not following:
            break
        row.append(rng.choice(following))
        state = oracle.moves(state)[row[-1]]
    return found


def with_holes(row: list[int], rng: random.Random) -> list[int]:
    """With a stop id or two behind it; sometimes with a token changed; one or two masked."""
    row = row + [STOP] * rng.randrange(0 if row else 1, 3)
    if rng.random() < 0.3:
        row[rng.randrange(len(row))] = rng.choice([TOKENS.index(piece) for piece in PIECES])
    for at in rng.sample(range(len(row)), min(len(row), rng.choice([1, 1, 2]))):
        row[at] = -1
    return row


def check_canvases(kind: str, seed: str, count: int) -> Counter[str]:
    token_list, rng = TokenList(TOKENS, [STOP], [0, STOP], len(TOKENS)), random.Random(f"{kind} {seed}")
    drawn, outcomes = RandomRepeats(seed, kind, token_list, COUNTS[kind]), Counter(cases=count)
    for number in range(count):
        grammar, part = drawn.draw(2)
        texts = PartTexts(part)
        row = None if texts.start is None else text_of(PartTokens(texts, token_list), rng)
        if row is None:
            outcomes["no short text"] += 1
            continue
        case = Case(grammar, TOKENS, texts.matches, lambda data: not data.strip(TRIED), is_part=True)
        try:
            outcomes["completable"] += check_partial(case, with_holes(row, rng))
            outcomes["checked"] += 1
        except (gl.UnsupportedFeature, gl.LimitExceeded) as refusal:
            outcomes[type(refusal).__name__] += 1
        except AssertionError as broken:
            raise AssertionError(f"{kind} {seed} {number}: {grammar!r}: {broken}") from broken
    assert outcomes["checked"] > count / 2, outcomes
    assert outcomes["completable"] > count / 4, outcomes
    return outcomes


@pytest.mark.parametrize("kind", COUNTS)
@tiers("seed, count", ("few", 8), ("many", 200))
def test_random_repeats(kind: str, seed: str, count: int, record_property: Any) -> None:
    record_counts(record_property, check_canvases(kind, seed, count))
