"""Masks of JSON schemas, tried out token by token: a bit is set iff `advance` takes the token, and every text can be ended.

The walks follow texts that are known to be valid, cut into tokens at random, and leave them for tokens drawn from masks. What
walks end in is judged by the `jsonschema` library (tests/oracles).
"""

import random

import pytest

import grammarlm as gl
from tests.laws.laws import allowed_ids
from tests.mask_bits import ids_of
from tests.masks.machines.json.json_cases import ANY, CASES, OTHER_STOP, STOP, TOKENS, Case
from tests.masks.machines.json.json_trials import IDS, LONGEST, VOCAB, taken_ids
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
FEW = {"properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False}

UNIQUE = {"type": "array", "uniqueItems": True}
HEX_ROW = b"[" + b",".join(b'"%c"' % c for c in range(0x40, 0x50))
MANY_A = b"[" + b",".join(b'"a%d"' % i for i in range(30)) + b","

# Schema, options, texts whose masks are asked for one after another, a token that must have the bit that advance says each time.
REDUCED = [
    ({"type": "object", "required": ["b"]}, ANY, [b'{"a', b'{"b":1,"a'], b'a":1}'),
    ({"type": "object", "required": ["b"]}, ANY, [b'{"b":1,"a', b'{"a'], b'a":1}'),
    ({"type": "object"}, {}, [b"{"], b'"a":1,"a":'),
    (
        {"type": "array", "contains": {"type": "object", "required": ["a"]}, "maxContains": 1},
        ANY,
        [b'[1,{"aa":2'],
        b',"a"',
    ),
    ({"type": "array", "uniqueItems": True, "items": {"type": "integer"}}, {}, [b"[1,1"], b","),
    ({"type": "object"}, {}, [b'{"b":1,'], b'"a":1,"b":'),
    ({"type": "object", "propertyNames": {"pattern": "^[ab]+$", "maxLength": 3}}, {}, [b'{"abb":1,"ab'], b"b"),
    ({"type": "object", "required": ["b"]}, ANY, [b"{", b'{"b":1,', b"{"], b'"a":1}'),
    ({"type": "object", "required": ["b"]}, ANY, [b'{"a":"', b'{"b":1,"a":"', b'{"a":"'], b'1"}'),
    ({"type": "object", "minProperties": 2}, {}, [b'{"a', b'{"b":1,"a', b'{"a'], b'a":1}'),
    ({"type": "object", "maxProperties": 2}, {}, [b'{"a', b'{"b":1,"a', b'{"a'], b'a":1,"c":1}'),
    ({"type": "object"}, {}, [b'{"b":1', b'{"a":1'], b',"a":'),
    ({"type": "object"}, ANY, [b'{"b":1,"a', b'{"c":1,"a'], b'":1,"b":'),
    ({"type": "object"}, ANY, [b'{"b":[{"c":1', b'{"a":[{"c":1'], b'}],"a":1,"b":'),
    ({"type": "object", "required": ["b"]}, {}, [b'{"b":1', b'{"b":1,"c":2'], b',"a":1,"c":'),
    # Names that can be used up: of a language without end that goes on with few, ...
    ({"propertyNames": {"pattern": "^(ab?|c+)$"}}, ANY, [b'{"a":1', b'{"ab":1', b'{"ab":1,"a":1'], b'"a'),
    ({"propertyNames": {"pattern": "^(ab?|c+)$"}}, {}, [b'{"a":1,"ab":1,', b'{"a":1,"ab":1,"'], b'"\\u0061'),
    ({"propertyNames": {"pattern": "^(ab?|c+)$"}}, {}, [b'{"a":1,"', b'{"a":1,"\\u006'], b'1"'),
    # ... of many words, ...
    ({"propertyNames": {"pattern": "^[a-z0-9]{2}$"}}, ANY, [b"{" + b",".join(b'"a%c":1' % c for c in AZ09)], b',"a'),
    (
        {"propertyNames": {"pattern": "^a[a-z0-9é€]{2}$"}},
        ANY,
        [b"{" + b",".join(b'"aa%c":1' % c for c in AZ09)],
        b',"a',
    ),
    ({"propertyNames": {"pattern": "^[a-z0-9]b?$"}}, ANY, [ALL_TWO[:-7], ALL_TWO], b',"9b":1,'),
    ({"propertyNames": {"pattern": "^[a-z0-9]b?$"}}, {}, [ALL_TWO[:-7], ALL_TWO], b',"9b'),
    # ... or of many that have a place of their own, ...
    (
        {"properties": {"ab": False}, "patternProperties": {"^(ab|c+)$": {}}, "additionalProperties": False},
        ANY,
        [b"{", b'{"'],
        b'"a',
    ),
    (
        {"properties": {"ab": {}, "a": {}}, "patternProperties": {"^(ab?|c+)$": {}}, "additionalProperties": False},
        ANY,
        [b"{", b'{"', b'{"ab":1,"', b'{"a":1,"ab":2', b'{"a":1,"ab":2,"'],
        b'"a',
    ),
    # ... and where so many must come.
    (
        {"propertyNames": {"enum": ["a", "ab", "c"]}, "minProperties": 2},
        {},
        [b"{", b'{"a":1', b'{"ab":1', b'{"c":1,"a'],
        b'c":1}',
    ),
    (
        {"propertyNames": {"pattern": "^[a-z0-9]b?$"}, "minProperties": 72},
        {},
        [b"{", ALL_TWO[:-7], ALL_TWO],
        b',"9b":1}',
    ),
    (FEW | {"minProperties": 2}, {}, [b"{", b'{"b":1', b'{"a":1', b'{"'], b'"c":1}'),
    (FEW | {"minProperties": 2, "dependentRequired": {"c": ["a"]}}, {}, [b"{", b'{"a":1', b'{"'], b'"b":1,"c'),
    (
        {"properties": {f"k{i:02}": {} for i in range(70)}, "additionalProperties": False, "minProperties": 60},
        {},
        [b"{", b'{"k03":1', b'{"k09":1,"', b'{"k10":1', b'{"k10":1,"'],
        b'"k1',
    ),
    (
        {"properties": {"a": {}}, "patternProperties": {"^[b-z0-9]{1,2}$": {}}, "additionalProperties": False}
        | {"minProperties": 1261},
        {},
        [b"{", b'{"a":1', b'{"'],
        b'"b',
    ),
    # Items that must differ.
    (UNIQUE | {"items": {"type": "boolean"}}, {}, [b"[true", b"[true,", b"[true,false"], b",true"),
    (UNIQUE | {"items": {"type": ["string", "boolean"]}}, {}, [b"[", b"[true,", b'["true",'], b"tr"),
    (UNIQUE | {"items": {"type": ["string", "null"], "pattern": "^a"}}, {}, [b"[", b"[null,", b'["a"'], b',"a'),
    (
        UNIQUE | {"items": {"enum": ["a", "ab", 1, None]}},
        {},
        [b'["a"', b'["ab","', b'["a",1,null,"', b'["a",1,null,'],
        b'"a"',
    ),
    (
        UNIQUE | {"items": {"enum": ["é", "è"]}},
        {},
        ['["é","'.encode(), b'["\\u00E9","\\u00', '["é","é'.encode()[:-1]],
        b'\\u00E9"',
    ),
    (
        UNIQUE | {"items": {"pattern": "^(ab?|c+)$", "type": "string"}},
        {},
        [b'["a","', b'["ab","a"', b'["ab","a","'],
        b'a"',
    ),
    (
        UNIQUE | {"items": {"pattern": "^(ab?|c+)$", "type": "string"}},
        {},
        [b'["a","\\u00', b'["ab",', b'["ab","a",'],
        b'"\\u0061',
    ),
    (
        UNIQUE | {"items": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}},
        {},
        [b'["abc","ab', b'["abc","abd","ab', b'["abc","'],
        b"abc",
    ),
    (
        UNIQUE | {"items": {"type": "string", "maxLength": 2}},
        {},
        [b'["ab","a', b'["ab","\\u0061', b'["ab","a\\u006', b'["ab","'],
        b"ab",
    ),
    (UNIQUE | {"items": {"type": "string", "maxLength": 1}}, {}, [HEX_ROW + b',"', HEX_ROW + b',"\\u00'], b"\\u004"),
    (
        UNIQUE | {"items": {"type": "string", "maxLength": 1}},
        {},
        ['["é","'.encode(), '["é","é'.encode()[:-1]],
        "é".encode(),
    ),
    (
        UNIQUE | {"items": {"format": "ipv4", "type": "string"}},
        {},
        [b'["255.255.255.255","255.255.255.25', b'["1.1.1.1","1.1.1.1'],
        b'5"',
    ),
    (
        UNIQUE | {"items": {"type": "integer", "minimum": 1, "maximum": 3}},
        {},
        [b"[1", b"[1,", b"[1,2,", b"[1,2,3", b"[2.0,1.0,"],
        b",3",
    ),
    (
        UNIQUE | {"items": {"type": "integer", "minimum": 0, "maximum": 9999}},
        {},
        [b"[9999,99", b"[9999,999", b"[9999,9.9"],
        b"99",
    ),
    (
        UNIQUE | {"items": {"type": "integer"}},
        {},
        [b"[12,12", b"[12,1.", b"[12,1", b"[12,1.2", b"[0,-", b"[1e+0,0,-"],
        b"2,",
    ),
    (
        UNIQUE | {"items": {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 2}},
        {},
        [b"[0.5,-", b"[0,0.", b"[0,0.5,1,1.5", b"[2,1"],
        b".0",
    ),
    (UNIQUE | {"items": {"enum": [0, 1, 2.5, -1e3, "a"]}}, {}, [b"[0,2.5,", b"[0,-", b"[1,-1000,"], b"0,"),
    (UNIQUE | {"items": {"enum": [0, 1, 2.5, -1e3, "a"]}}, {}, [b"[1e0,-1.0e3,", b"[2.50,0", b"[0.0,"], b"2.5"),
    (UNIQUE | {"items": {"type": "integer", "maximum": 0}}, {}, [b"[0,", b"[0,-"], b"-0"),
    (UNIQUE | {"items": {"type": "string"}}, {}, [b'["b', b'["c","', b'["', b'["b","'], b'b","b"'),
    (UNIQUE | {"items": {"type": "string", "pattern": "b"}}, {}, [b'["b', b'["c b","', b'["', b'["b","'], b'b","b"'),
    (
        UNIQUE | {"items": {"anyOf": [{"type": "string", "maxLength": 5}, {"pattern": "^a", "type": "string"}]}},
        {},
        [MANY_A],
        b'"a","',
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
