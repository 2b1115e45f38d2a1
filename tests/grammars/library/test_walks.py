"""Random walks along the masks of the library's grammars end in texts that stock lark and the languages' own parsers take.

A walk has a budget, so it ends. Its tokens are drawn by kind, keywords and signs before blanks, because most tokens of a vocabulary
are words, and most places take them only within a string or a comment.
"""

import functools
import random
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars import library
from grammarlm.masks.mask_array import ids_of
from tests.counts import record_counts, tiers
from tests.grammars.library.library_texts import stock_lark, stock_parser, stock_python
from tests.oracles.languages import KNOWS
from tests.real_data import SMALL_AND_LARGE

PATIENCE = 120_000  # ms for one mask: with a real vocabulary those near the end of a budget take long on a busy machine
KINDS = ("keyword", "word", "number", "sign", "blank", "comment", "rest")
WEIGHTS = {"keyword": 8, "word": 3, "number": 2, "sign": 7, "blank": 2, "comment": 0.1, "rest": 0.3}
WITHIN_A_WORD = WEIGHTS | {"keyword": 0.3, "word": 0.5, "number": 0.5, "blank": 5}
_COMMENT = re.compile(r"--|-/|/\*|//|#|<!")
_CLOSER = re.compile(rb"[^'\"]*(['\"\n>]|\*/)")
_WORD = re.compile(r"[A-Za-z_]{2,}")


@functools.cache
def vocabulary(name: str) -> gl.Vocabulary:
    return gl.Vocabulary.from_tokenizer(SMALL_AND_LARGE[name])


@functools.cache
def constraint(grammar: str, name: str) -> gl.Constraint:
    source = gl.Lark.python() if grammar == "python" else gl.Lark.library(grammar)
    return gl.compile(source, vocabulary(name), limits=gl.Limits(max_ms=PATIENCE))


@functools.cache
def kinds(grammar: str, name: str) -> np.ndarray:
    """The place in KINDS of every token."""
    vocab = vocabulary(name)
    patterns = [terminal.pattern.value for terminal in stock_parser(grammar).terminals]
    keywords = {word for pattern in patterns for word in _WORD.findall(pattern)}
    return np.array([KINDS.index(kind_of(vocab.token_bytes(token), keywords)) for token in range(vocab.size)])


def kind_of(data: bytes, keywords: set[str]) -> str:
    text = data.decode(errors="replace").strip()
    if not data.isascii() or not text:
        return "blank" if data and data.isascii() else "rest"
    if _COMMENT.search(text):
        return "comment"
    if text in keywords:
        return "keyword"
    return "word" if text.isalpha() else "number" if text.isdigit() else "sign" if len(text) < 4 else "rest"


def walk(grammar: str, name: str, spare: int, rng: random.Random) -> str:
    """A text that the masks have led to, at most `spare` tokens longer than need be."""
    source, vocab, kind = constraint(grammar, name), vocabulary(name), kinds(grammar, name)
    matcher, mask, tokens = (
        source.matcher(source.matcher().min_tokens_left + spare),
        gl.allocate_mask(1, vocab.size),
        [],
    )
    while True:
        matcher.fill_mask(mask)
        ids = ids_of(mask[0])
        assert len(ids), tokens
        texts = ids[~np.isin(ids, vocab.stop_ids)]
        assert matcher.is_accepting == (len(texts) < len(ids)), tokens
        if matcher.is_accepting and (not len(texts) or rng.random() < 0.03):
            return b"".join(map(vocab.token_bytes, tokens)).decode()
        tokens.append(draw(texts, b"".join(map(vocab.token_bytes, tokens)), vocab, kind, rng))
        assert matcher.advance(tokens[-1]), tokens


def draw(texts: np.ndarray, before: bytes, vocab: gl.Vocabulary, kind: np.ndarray, rng: random.Random) -> int:
    """One of the tokens: where most are allowed, in a string or a comment, often one that may close it.

    Seldom one that opens a comment.
    """
    closing = texts[closers(vocab)[texts]] if 2 * len(texts) > vocab.size and rng.random() < 0.5 else texts[:0]
    if len(closing):
        return int(rng.choice(closing))
    weights = WITHIN_A_WORD if before[-1:].isalnum() or before.endswith(b"_") else WEIGHTS
    present = np.unique(kind[texts]).tolist()
    for _ in range(5):
        chosen = rng.choices(present, [weights[KINDS[k]] for k in present])[0]
        token = int(rng.choice(texts[kind[texts] == chosen]))
        opening = (before.strip() or b"-")[-1:] + vocab.token_bytes(token)
        if not _COMMENT.search(opening.decode(errors="replace")):
            break
    return token


@functools.lru_cache
def closers(vocab: gl.Vocabulary) -> np.ndarray:
    """Which tokens may close a string or a comment."""
    return np.array([bool(_CLOSER.fullmatch(vocab.token_bytes(token))) for token in range(vocab.size)])


def check(grammar: str, name: str, count: int) -> Counter[str]:
    """So many different walks, each accepted by stock lark; those that the language's own parser knows are counted."""
    rng, outcomes, seen, knows = random.Random(f"{grammar} {name}"), Counter[str](), set(), KNOWS.get(grammar)
    while len(seen) < count:
        text = walk(grammar, name, rng.choice([8, 20, 40, 80]), rng)
        outcomes["walks"] += 1
        assert outcomes["walks"] < 3 * count + 50, "too many walks end in the same texts"
        if text in seen:
            continue
        seen.add(text)
        assert is_lark(grammar, text), text
        if knows is not None:
            outcomes["known to the language"] += knows(text)
            assert knows(text) or grammar == "python", text
    return outcomes


def is_lark(grammar: str, text: str) -> bool:
    return stock_python(text) if grammar == "python" else stock_lark(grammar, text)


def record(record_property: Any, cases: int, outcomes: Counter[str]) -> None:
    record_property("cases", cases)
    record_counts(record_property, outcomes)


@pytest.mark.parametrize("grammar", [*library.names(), "python"])
@tiers("name, walks", ("embedded", 10), *((name, 100) for name in SMALL_AND_LARGE))
def test_walks(name: str, walks: int, grammar: str, record_property: Any) -> None:
    record(record_property, walks, check(grammar, name, walks))


@pytest.mark.proof
@pytest.mark.parametrize("name", SMALL_AND_LARGE)
def test_500_statements_are_sql(name: str, record_property: Any) -> None:
    """None of them is a syntax error to the sqlite3 module."""
    outcomes = check("sqlite", name, 500)
    assert outcomes["known to the language"] == 500
    record(record_property, 500, outcomes)


@pytest.mark.proof
@pytest.mark.parametrize("name", SMALL_AND_LARGE)
def test_500_programs_are_python_to_lark(name: str, record_property: Any) -> None:
    """lark's grammar takes `1 = x`, so what Python itself says is a figure, not a law."""
    outcomes = check("python", name, 500)
    record(record_property, 500, outcomes)
    record_property("share that ast.parse takes", f"{outcomes['known to the language'] / 500:.0%}")
