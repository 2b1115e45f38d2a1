"""Random compositions of schemas, regular languages and texts, tokens cut anywhere, random partly filled rows: canvases against
every way of filling them in, read by an oracle that tries every way of cutting a text into parts."""

import random
from typing import NamedTuple

import numpy as np
import pytest

import grammarlm as gl
from tests.masks.canvas.canvas_law import Case, holes_of, ids_in
from tests.masks.canvas.parts_cases import Piece, one_after_another, one_of, regex, rules, schema, text
from tests.masks.canvas.substituted import check_partial, completions, row_of

FEW, MANY = 8, 400
ALL = bytes(range(256))
WHITE = b" \t\r\n"
DIGITS = b"0123456789-+.eE"


class Part(NamedTuple):
    piece: Piece
    alphabet: bytes  # of all texts
    examples: tuple[bytes, ...]


ESCAPES = b"\\u0123456789abcdefABCDEF"
PARTS = [
    Part(regex("[0-9]{1,2}"), b"0123456789", (b"7", b"42")),
    Part(regex("(ab|b)*c?"), b"abc", (b"", b"abb", b"bc")),
    Part(regex('[ {"]*'), b' {"', (b"", b" {", b'"')),
    Part(regex("[1}]?"), b"1}", (b"", b"1", b"}")),
    Part(text("</t>"), ALL, (b"so</t>", b"</t>", b"<</t>")),
    Part(text("{}"), ALL, (b"{}", b"a{}")),
]
SCHEMAS = [
    Part(schema({"type": "integer", "minimum": 0, "maximum": 99}), DIGITS, (b"7", b"12", b"0")),
    Part(schema({"type": "number"}), DIGITS, (b"1.5", b"-2.0")),
    Part(schema({"type": "array", "items": {"$ref": "#"}, "maxItems": 2}), b"[],", (b"[[],[]]", b"[]", b"[[]]")),
    Part(schema({"type": "object", "properties": {"a": {"enum": [None, "b"]}}, "additionalProperties": False}),
         b'{}":,abnul' + ESCAPES, (b'{"a":"b"}', b"{}", b'{"a":null}')),
    Part(schema({"type": "object", "additionalProperties": {"$ref": "#"}, "maxProperties": 2}), ALL,
         (b'{"b":{},"a":{}}', b"{}", b'{"a":{"a":{}}}')),
    Part(schema({"type": "object", "propertyNames": {"pattern": "^[ab]?$"}, "additionalProperties": {"const": None}}),
         b'{}":,abnul' + ESCAPES, (b'{"a":null,"b":null}', b'{"":null}')),
    Part(schema({"type": "array", "items": {"const": "b"}}, whitespace="any"), b'[],"b' + WHITE + ESCAPES,
         (b'[ "b", "b"]', b"[]", b' ["b"\n] ')),
    Part(schema({"anyOf": [{"enum": [1, "1"]}, {"type": "integer", "minimum": 1, "maximum": 12}]}), DIGITS + b'"' + ESCAPES,
         (b"1", b'"1"', b"12")),
    Part(schema({"type": "string", "maxLength": 2}), ALL, (b'"a"', b'""', b'"\\n1"')),
]  # fmt: skip
RULED = [
    Part(rules(gl.Lark('start: pair*\npair: "(" pair* ")" | "[" pair* "]"\n')), b"()[]", (b"()", b"", b"[()]()", b"[]")),
    Part(rules(gl.Lark('start: NUM NUM\nNUM: /[0-9]+/\n%ignore " "\n')), b"0123456789 ", (b"1 2", b"12 1 ", b" 7 0")),
    Part(rules(gl.Lark('start: ("if" NAME | NAME "=" NAME ";")+\nNAME: /[a-z]+/\n%ignore " "\n')),
         b"abcdefghijklmnopqrstuvwxyz=; ", (b"if a", b"a=b;", b"if a b=if;")),
    Part(rules(gl.Lark('start: A | B B\nA: /ab/\nB: /[ab]/\n')), b"ab", (b"ab", b"ba", b"bb")),
    Part(rules(gl.Lark('start: "a" start "a" | "b" start "b" | "a" | "b" | "a" "a" | "b" "b"\n'), parser="earley"), b"ab",
         (b"aba", b"b", b"babab", b"baab")),
    Part(rules(gl.Gbnf('root ::= item ("," " "? item)*\nitem ::= [0-9]+ | "<" root ">"\n'),
               'start: item ("," " "? item)*\nitem: /[0-9]/+ | "<" start ">"\n'), b"0123456789,<> ", (b"1,2", b"<1, 2>", b"<<1>>")),
    Part(rules(gl.Gbnf('root ::= "a" root tail? | "b"\ntail ::= "c" root? "d"?\n'),
               'start: "a" start tail? | "b"\ntail: "c" start? "d"?\n', "earley"), b"abcd", (b"b", b"abcbd", b"aabc")),
    Part(rules(gl.Lark('start: start start | "a" | "aa"\n')), b"a", (b"a", b"aaa")),
]  # fmt: skip
POOLS = {"regular": PARTS, "rules": RULED}


def random_part(rng: random.Random, pool: list[Part]) -> Part:
    part = rng.choice(pool)
    if rng.random() < 0.15:
        other = rng.choice([*PARTS, *SCHEMAS])
        return Part(one_of(part.piece, other.piece), part.alphabet + other.alphabet, part.examples + other.examples)
    return part


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
    grammar, accepts = one_after_another(*(part.piece for part in parts))
    texts = [cut(rng, b"".join(rng.choice(part.examples) for part in parts)) for _ in range(4)]
    extra = sorted({token for tokens in texts for token in tokens if len(token) > 1})
    alphabet = b"".join(part.alphabet for part in parts)
    tokens = [b"?", *(bytes([b]) for b in range(256)), *extra, b"."]
    case = Case(grammar, tokens, accepts, lambda data: not data.strip(alphabet))
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
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.proof)])
def test_random_compositions(pool: str, count: int) -> None:
    rng, completable = random.Random(3), 0
    for _ in range(count):
        case, row = random_case(rng, POOLS[pool])
        assert case.accepts(b"".join(case.tokens[token] for token in row))
        completable += check_partial(case, random_row(rng, case, row))
    assert 0 < completable < count


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.proof)])
def test_behind_a_matcher(pool: str, count: int) -> None:
    rng, made = random.Random(4), 0
    for _ in range(count):
        case, row = random_case(rng, POOLS[pool])
        partial = random_row(rng, case, row)
        first = rng.randrange(partial.index(-1) + 1)
        matcher = case.constraint.matcher()
        if matcher.validate(partial[:first]) < first or len(partial) == first:
            continue
        assert all(map(matcher.advance, partial[:first]))
        canvas = case.constraint.canvas(len(partial) - first, after=matcher)
        left = completions(case, partial)
        assert canvas.is_completable(partial[first:]) == (len(left) > 0), partial
        allowed = canvas.allowed(partial[first:])
        for at in holes_of(partial):
            assert ids_in(allowed.row(at - first)) == set(left[:, at].tolist()), (partial, at)
        if len(left):
            logits = np.zeros((len(partial) - first, case.width), np.float32)
            assert (left[:, first:] == canvas.fill(partial[first:], logits)).all(1).any()
        made += 1
    assert made > count // 2


def test_a_token_that_spells_a_key_again_where_there_are_no_marks() -> None:
    """Beside rules whose micro points go round in a circle."""
    palindromes, open_object = RULED[4].piece, SCHEMAS[4].piece
    grammar, accepts = one_after_another(palindromes, open_object)
    tokens = [b"?", *(bytes([b]) for b in range(256)), b"aba", b'{"a', b'{"b', b'{"', b'":', b'{},"', b'":{}', b"."]
    case = Case(grammar, tokens, accepts, lambda data: not data.strip(b'ab{}":,'))
    row = row_of(case, 9, b"aba", None, b'":', b'{},"', b"a", b'":{}', b"}")
    assert check_partial(case, row)
    assert not case.constraint.canvas(9).is_completable([row[0], tokens.index(b'{"a'), *row[2:]])
