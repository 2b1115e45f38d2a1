"""Masks of JSON schemas, tried out token by token: a bit is set iff `advance` takes the token, and every text can be ended.

The walks follow texts that are known to be valid, cut into tokens at random, and leave them for tokens drawn from masks. What
walks end in is judged by the `jsonschema` library (tests/oracles).
"""

import json
import random

import pytest

import grammarlm as gl
from tests.corpus_files import raw
from tests.laws.laws import allowed_ids
from tests.mask_bits import ids_of
from tests.masks.machines.json.json_cases import (
    ANY,
    CASES,
    IDS,
    LONGEST,
    OTHER_STOP,
    STOP,
    TABLES,
    TOKENS,
    VOCAB,
    Case,
    taken_ids,
)
from tests.oracles.json_schema_oracle import Judge
from tests.oracles.json_spellings import is_within_caps

STOPS = {STOP, OTHER_STOP}
TWINS = [ids for ids in IDS.values() if len(ids) > 1]
KEYS = [IDS[text][0] for text in (b'"a":', b'"b":', b'"c":', b'"k1":', b'"k65":')]
QUOTES = [IDS[text][0] for text in (b'"}', b'"]', b'":', b'"')]
BRACKETS = [IDS[text][0] for text in (b"}", b"]")]
PLAIN = [ids[0] for text, ids in IDS.items() if len(text) > 1 and text[0] != 0x20] + [
    IDS[bytes([b])][0] for b in b'ab012.-"k56:T'
]


def assert_here(matcher: gl.Matcher, case: Case, text: bytes) -> set[int]:
    """The mask is what advance takes; twins have the same bit; a stop id is allowed where the text may end; it is not empty."""
    allowed, taken = allowed_ids(matcher, VOCAB), taken_ids(matcher)
    where = f"{case}\nafter {text!r}"
    shown = [[TOKENS[t] for t in sorted(ids)[:8]] for ids in (allowed - taken, taken - allowed)]
    assert allowed == taken, f"{where}: in the mask but refused {shown[0]}, taken but not in the mask {shown[1]}"
    assert allowed, f"{where}: a dead end"
    assert all(len({token in allowed for token in ids}) == 1 for ids in TWINS), where
    assert (allowed & STOPS == STOPS) is matcher.is_accepting, where
    return allowed - STOPS


def cut(data: bytes, at: int, rng: random.Random) -> int:
    """A token of what comes next in a text."""
    ends = [end for end in range(at + 1, min(len(data), at + LONGEST) + 1) if data[at:end] in IDS]
    return rng.choice(IDS[data[at : rng.choice(ends)]])


def ended(matcher: gl.Matcher, case: Case, text: bytes, rng: random.Random) -> bytes:
    """The text, gone on with by masks until it may end: closing brackets and quotes first, now and then something else."""
    matcher = matcher.fork()
    mask = gl.allocate_mask(1, VOCAB.size)
    for step in range(900):
        if matcher.is_accepting:
            return text
        matcher.fill_mask(mask)
        allowed = set(ids_of(mask))
        assert allowed, f"{case}\nafter {text!r}: a dead end"
        first = QUOTES if allowed.issuperset(BRACKETS) else [*KEYS, *BRACKETS, *QUOTES]
        closing = [token for token in first if token in allowed]
        plain = [token for token in PLAIN if token in allowed]
        token = rng.choice(
            closing[:3] if closing and rng.random() < 0.7 else plain if plain and step % 7 else sorted(allowed)
        )
        assert matcher.advance(token)
        text += TOKENS[token]
    raise AssertionError(f"{case}\nno end is found from {text!r}")


def assert_valid(case: Case, judge: Judge, text: bytes) -> None:
    if is_within_caps(text.decode()) or case.options.get("whitespace"):
        assert judge.valid(text), f"{case}\n{text!r} is invalid"


def walk(case: Case, text: bytes, leave: int, rng: random.Random) -> None:
    """Along a valid text, and away from it after some tokens."""
    matcher, judge, at, read = case.compiled().matcher(), Judge(case.schema), 0, b""
    for step in range(leave + 12):
        allowed = assert_here(matcher, case, read)
        if step < leave and at < len(text):
            token = cut(text, at, rng)
            assert token in allowed, f"{case}\nafter {read!r}: {TOKENS[token]!r} of {text!r} is not allowed"
            at += len(TOKENS[token])
        elif step < leave or not allowed:
            break
        else:
            long = [t for t in sorted(allowed) if len(TOKENS[t]) > 1]
            plain = [t for t in PLAIN if t in allowed]
            token = rng.choice(
                long if long and rng.random() < 0.4 else plain if plain and rng.random() < 0.7 else sorted(allowed)
            )
        assert matcher.advance(token)
        read += TOKENS[token]
        if rng.random() < 0.15:
            assert_valid(case, judge, ended(matcher, case, read, rng))
    if leave > len(text):
        assert matcher.is_accepting, f"{case}\n{text!r} is not accepted"
        assert judge.valid(text), f"{case}\n{text!r} is invalid"
    else:
        assert_valid(case, judge, ended(matcher, case, read, rng))


@pytest.mark.parametrize("name", CASES)
def test_a_bit_is_what_advance_says(name: str) -> None:
    case = CASES[name]
    for number, text in enumerate(case.texts):
        rng = random.Random(f"{name} {number}")
        data = text.encode()
        walk(case, data, len(data) + 1, rng)
        for _ in range(2):
            walk(case, data, rng.randint(0, min(len(data), 14)), rng)


AZ09 = b"abcdefghijklmnopqrstuvwxyz0123456789"
ALL_TWO = b"{" + b",".join(b'"%c":1,"%cb":2' % (c, c) for c in AZ09)  # all names of ^[a-z0-9]b?$

# Schema, options, texts whose masks are asked for one after another, a token that must have the bit that advance says each time.
REDUCED = [
    (json.loads(place["schema"]), place.get("options", {}), [raw(text) for text in place["texts"]], raw(place["token"]))
    for place in TABLES["place"]
]
REDUCED += [  # names that can be used up, where they are many, and where many must come
    ({"propertyNames": {"pattern": "^[a-z0-9]{2}$"}}, ANY, [b"{" + b",".join(b'"a%c":1' % c for c in AZ09)], b',"a'),
    (
        {"propertyNames": {"pattern": "^a[a-z0-9é€]{2}$"}},
        ANY,
        [b"{" + b",".join(b'"aa%c":1' % c for c in AZ09)],
        b',"a',
    ),
    ({"propertyNames": {"pattern": "^[a-z0-9]b?$"}}, ANY, [ALL_TWO[:-7], ALL_TWO], b',"9b":1,'),
    ({"propertyNames": {"pattern": "^[a-z0-9]b?$"}}, {}, [ALL_TWO[:-7], ALL_TWO], b',"9b'),
    (
        {"propertyNames": {"pattern": "^[a-z0-9]b?$"}, "minProperties": 72},
        {},
        [b"{", ALL_TWO[:-7], ALL_TWO],
        b',"9b":1}',
    ),
    (
        {"properties": {f"k{i:02}": {} for i in range(70)}, "additionalProperties": False, "minProperties": 60},
        {},
        [b"{", b'{"k03":1', b'{"k09":1,"', b'{"k10":1', b'{"k10":1,"'],
        b'"k1',
    ),
]


@pytest.mark.parametrize(("schema", "options", "texts", "token"), REDUCED)
def test_a_row_is_of_its_place(schema, options, texts: list[bytes], token: bytes) -> None:
    vocab = gl.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>", token], stop_ids=[256])
    constraint = gl.compile(gl.JsonSchema(schema, **options), vocab)
    for text in texts:
        matcher = constraint.matcher()
        assert matcher.advance_bytes(text)
        allowed = allowed_ids(matcher, vocab)
        assert allowed
        for tried in range(vocab.size):
            assert (tried in allowed) is matcher.advance(tried), f"{text!r}: {vocab.token_bytes(tried)!r}"
            if tried in allowed:
                after = allowed_ids(matcher, vocab)
                assert after, f"{text!r}: a dead end after {vocab.token_bytes(tried)!r}"
                matcher.rollback(1)
