"""Random compositions of schemas, regular languages and texts, tokens cut anywhere, random partly filled rows: canvases against
every way of filling them in, read by an oracle that tries every way of cutting a text into parts."""

import functools
import operator
import random
from typing import NamedTuple

import pytest

from grammarlm.grammars.compose import Grammar
from tests.corpus_files import raw
from tests.counts import tiers
from tests.masks.canvas.canvas_cases import TABLES, grammar_of
from tests.masks.canvas.canvas_law import Case
from tests.masks.canvas.substituted import check_partial, row_of
from tests.oracles.any_grammar import accepts_of


class Part(NamedTuple):
    grammar: Grammar
    alphabet: bytes  # of all texts
    examples: tuple[bytes, ...]

    def __or__(self, other: "Part") -> "Part":
        return Part(self.grammar | other.grammar, self.alphabet + other.alphabet, self.examples + other.examples)


def parts_of(pool: str) -> list[Part]:
    return [
        Part(
            grammar_of(part["grammar"]),
            raw(part["alphabet"]) if "alphabet" in part else bytes(range(256)),
            tuple(map(raw, part["examples"])),
        )
        for part in TABLES["part"]
        if part["pool"] == pool
    ]


SCHEMAS = parts_of("schemas")
POOLS = {"regular": parts_of("regular"), "rules": parts_of("rules")}


def random_part(rng: random.Random, pool: list[Part]) -> Part:
    part = rng.choice(pool)
    return part | rng.choice([*POOLS["regular"], *SCHEMAS]) if rng.random() < 0.15 else part


def random_parts(rng: random.Random, pool: list[Part]) -> list[Part]:
    """Schemas, and parts of a pool between them: two of these side by side would be one part."""
    parts = [random_part(rng, pool if rng.random() < 0.6 else SCHEMAS)]
    parts.insert(rng.randrange(2), random_part(rng, SCHEMAS))
    if rng.random() < 0.3:
        parts.append(random_part(rng, pool if parts[-1] in SCHEMAS else SCHEMAS))
    return parts


def cut(rng: random.Random, data: bytes) -> list[bytes]:
    """A text as tokens of one byte to four."""
    found = []
    while data:
        size = rng.choice([1, 1, 2, 3, 4])
        found.append(data[:size])
        data = data[size:]
    return found


def random_case(rng: random.Random, pool: list[Part]) -> tuple[Case, list[int]]:
    """A composition over all bytes and tokens from its texts, and the tokens of one."""
    parts = random_parts(rng, pool)
    grammar = functools.reduce(operator.add, (part.grammar for part in parts))
    texts = [cut(rng, b"".join(rng.choice(part.examples) for part in parts)) for _ in range(4)]
    extra = sorted({token for tokens in texts for token in tokens if len(token) > 1})
    alphabet = b"".join(part.alphabet for part in parts)
    tokens = [b"?", *(bytes([b]) for b in range(256)), *extra, b"."]
    case = Case(grammar, tokens, accepts_of(grammar), lambda data: not data.strip(alphabet))
    return case, [tokens.index(token, 1) for token in texts[0]]


def random_row(rng: random.Random, case: Case, row: list[int]) -> list[int]:
    """With stop ids behind it; sometimes with a token changed; some masked."""
    row = row + case.stop_ids * rng.randrange(2 if row else 1, 3)
    if rng.random() < 0.3:
        row[rng.randrange(len(row))] = rng.randrange(1, len(case.tokens))
    is_wide = all(case.begins(bytes([byte])) for byte in range(256))
    for at in rng.sample(range(len(row)), min(len(row), 1 if is_wide and rng.random() < 0.9 else 2)):
        row[at] = -1
    return row


@pytest.mark.parametrize("pool", POOLS)
@tiers("count", 8, 400)
def test_random_compositions(pool: str, count: int) -> None:
    rng, completable = random.Random(3), 0
    for _ in range(count):
        case, row = random_case(rng, POOLS[pool])
        assert case.accepts(b"".join(case.tokens[token] for token in row))
        completable += check_partial(case, random_row(rng, case, row))
    assert 0 < completable < count


@pytest.mark.parametrize("pool", POOLS)
@tiers("count", 8, 400)
def test_behind_a_matcher(pool: str, count: int) -> None:
    rng, made = random.Random(4), 0
    for _ in range(count):
        case, row = random_case(rng, POOLS[pool])
        partial = random_row(rng, case, row)
        first = rng.randrange(partial.index(-1) + 1)
        matcher = case.constraint.matcher()
        if matcher.validate(partial[:first]) < first or len(partial) == first:
            continue
        check_partial(case, partial[first:], begun=partial[:first])
        made += 1
    assert made > count // 2


def test_a_token_that_spells_a_key_again_where_there_are_no_marks() -> None:
    """Beside rules whose micro points go round in a circle."""
    grammar = grammar_of(
        """PALINDROME + Schema('{"type": "object", "additionalProperties": {"$ref": "#"}, "maxProperties": 2}')"""
    )
    tokens = [b"?", *(bytes([b]) for b in range(256)), b"aba", b'{"a', b'{"b', b'{"', b'":', b'{},"', b'":{}', b"."]
    case = Case(grammar, tokens, accepts_of(grammar), lambda data: not data.strip(b'ab{}":,'))
    row = row_of(case, 9, b"aba", None, b'":', b'{},"', b"a", b'":{}', b"}")
    assert check_partial(case, row)
    assert not case.constraint.canvas(9).is_completable([row[0], tokens.index(b'{"a'), *row[2:]])
