"""Canvases over the library's large LALR grammars: rows with two holes, each way through them read by stock lark."""

import functools
import random

import lark
import numpy as np

import grammarlm as gl
from grammarlm.masks.canvas.views import view_of
from tests.counts import tiers

C_WORDS = b"int main ( ) { } ; return x = 1 + * if else , () ); 0; while x( ++ void & /* */ ? : [ ]"
SQL_WORDS = b"SELECT x * FROM t = 1 ( ) , AND OR NOT IN 'a' . AS BY ORDER ; BETWEEN -- + || IS NULL WHERE"
WORDS = {
    "c": [*C_WORDS.split(), b" ", b" x", b"y = "],
    "sqlite": [*SQL_WORDS.split(), b" ", b"\n", b" x", b" WHERE ", b" BY", b" AS "],
}
TEXTS = {
    "c": [
        "int main(void){int x=1;if(x)return x;else y = x+1*x;}",
        "int x=1+x*1;",
        "void x(int x){while(x)x(1,x);x++;}",
        "int main(){x[1]=x?1:x;}",
    ],
    "sqlite": [
        "SELECT x FROM t WHERE x=1 AND NOT x IN (1,1)",
        "SELECT * FROM t ORDER BY x",
        "SELECT x.x AS x FROM t,t WHERE x BETWEEN 1 AND 1 OR x IS NULL;",
    ],
}

LONG = b"SELECT x.y, x ( x ) FROM t JOIN t AS xx ON xx.y = xxx WHERE x >= 1 AND x IN (1) ORDER BY x"


@functools.cache
def compiled(name: str) -> tuple[list[bytes], gl.Constraint]:
    """Its tokens, and the grammar over them."""
    words = WORDS[name]
    tokens = [b"<s>", *words, *(bytes([b]) for b in range(256) if bytes([b]) not in words), b"."]
    vocab = gl.Vocabulary(tokens, [len(tokens) - 1], [0, len(tokens) - 1])
    return tokens, gl.compile(gl.Lark.library(name), vocab, limits=gl.Limits(max_ms=60_000))


@tiers("name, count", ("sqlite", 1), *((name, 20) for name in WORDS))
def test_two_holes(name: str, count: int) -> None:
    rng, words, (tokens, constraint) = random.Random(count), WORDS[name], compiled(name)
    stop, likely = len(tokens) - 1, range(1, len(words) + 1)
    reader = lark.Lark(gl.Lark.library(name).text, parser="lalr")

    def is_read(row: list[int]) -> bool:
        end = row.index(stop) if stop in row else len(row)
        try:
            reader.parse(b"".join(tokens[token] for token in row[:end]).decode())
        except (lark.exceptions.LarkError, UnicodeDecodeError):
            return False
        return set(row[end:]) <= {stop}

    def row_of(text: bytes) -> list[int]:
        """Split anyhow."""
        row = []
        while text:
            row.append(rng.choice([i for i, token in enumerate(tokens[:-1]) if i and text.startswith(token)]))
            text = text[len(tokens[row[-1]]) :]
        return [*row, stop, stop]

    allowed = 0
    for text in TEXTS[name] * count:
        row = row_of(text.encode())
        first = rng.randrange(len(row) - 2)
        second = rng.choice([first + 1, rng.randrange(first + 1, len(row) - 1)])
        partial = [-1 if at in (first, second) else token for at, token in enumerate(row)]
        canvas = constraint.canvas(len(row))
        may = canvas.allowed(partial).test(first, range(stop + 1))
        tried = [
            row[first],
            *rng.sample(np.flatnonzero(may).tolist(), 1),
            *rng.sample([t for t in likely if not may[t]], 2),
        ]
        for token in tried:
            given = [*partial[:first], token, *partial[first + 1 :]]
            others = range(1, stop + 1) if may[token] else likely
            want = {other for other in others if is_read([*given[:second], other, *given[second + 1 :]])}
            have = set(np.flatnonzero(canvas.allowed(given).test(second, range(stop + 1))).tolist())
            assert have == want, (given, second)
            assert bool(want) == bool(may[token]), given
            allowed += len(want)
    assert allowed > 20


@tiers("text", b"SELECT x.y", LONG)
def test_blocks_begin_where_tokens_of_rows_lead_to(text: bytes) -> None:
    """A matcher within a lexeme stands where tokens lead to, with what these have on the stack: or all is forgotten."""
    tokens, constraint = compiled("sqlite")
    assert constraint.canvas(4).is_completable([-1] * 4)
    matcher = constraint.matcher()
    for byte in text:
        assert matcher.advance(tokens.index(bytes([byte])))
        grid = view_of(constraint).grid(4, matcher, 16, lambda: None)
        for control, stack in grid.starts:
            top = stack[-1] if stack else 0
            assert grid.table.sets.tops[control, top >> 6] >> np.uint64(top & 63) & np.uint64(1), (control, stack)
