"""Windows of tokens across the end of a thought are read as one by one: drafts, and tokens that are accepted together.

The end of a thought and the beginning of what follows it in every split into tokens, in windows of 1 to 8.
"""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.derived import Marked
from grammarlm.integrations.serving.served_row import ServedRow
from tests.mask_bits import ids_of
from tests.real_data import NAMES, SMALL_AND_LARGE, real_vocabulary

ANSWER = gl.JsonSchema({"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]})
GRAMMARS: dict[str, Grammar] = {
    "white space": gl.Text(until="</think>") + gl.Regex(r"\s*") + ANSWER,
    "few characters": gl.Text(until="</think>", max_chars=9) + gl.Regex(r"\n+") + ANSWER,
    "an end that is longer": gl.Text(until="\n</think>\n\n") + ANSWER,
    "two ends": gl.Text(until=["</think>", "</thought>"]) + "\n\n" + (ANSWER | "{none}"),
    "rules": gl.Gbnf('root ::= [^<]+ "</think>" "\\n"*') + ANSWER,
}
TEXT, WIDEST = b"so\n</think>\n\n{", 8
VOCABULARIES = [*SMALL_AND_LARGE, *({"qwen3"} & set(NAMES))]  # qwen3 has the end as one token


@cache
def vocabulary(name: str) -> gl.Vocabulary:
    return gl.Vocabulary.from_tokenizer(SMALL_AND_LARGE[name]) if name in SMALL_AND_LARGE else real_vocabulary(name)


@cache
def splits(name: str) -> list[list[int]]:
    """All ways to write the text in tokens."""
    vocab = vocabulary(name)
    pieces: dict[bytes, list[int]] = {}
    for token in vocab.text_ids:
        if vocab.token_bytes(token) in TEXT:
            pieces.setdefault(vocab.token_bytes(token), []).append(int(token))

    def ways(at: int) -> Iterator[list[int]]:
        if at == len(TEXT):
            yield []
        for end in range(at + 1, len(TEXT) + 1):
            for token in pieces.get(TEXT[at:end], ()):
                yield from ([token, *rest] for rest in ways(end))

    return list(ways(0))


def bits(row: ServedRow, words: int) -> np.ndarray:
    mask = np.empty((1, words), np.int32)
    row.fill(mask, 0)
    return mask[0]


def check(row: ServedRow, tokens: list[int], rows: list[np.ndarray], width: int, wrong: int) -> None:
    """Reads the tokens in windows; `rows` are those of one by one, `wrong` is allowed nowhere among them."""
    words, mask = len(rows[0]), np.empty((width + 2, len(rows[0])), np.int32)
    for at in range(0, len(tokens), width):
        window = tokens[at : at + width]
        assert row.validate(window) == window
        assert row.validate([*window, wrong]) == window
        row.fill_drafts([*window, wrong], mask, 0)
        assert np.array_equal(mask[: len(window) + 1], rows[at : at + len(window) + 1])
        assert np.array_equal(bits(row, words), rows[at])  # nothing has changed
        for back in (len(window), len(window) // 2):
            assert all(map(row.read, window))
            row.rollback(back)
            assert np.array_equal(bits(row, words), rows[at + len(window) - back])
            row.rollback(len(window) - back)
        assert all(map(row.read, window))
    assert not row.error


def check_all_windows(constraint: gl.Constraint, most: int | None, tokens: list[int], rng: random.Random) -> np.ndarray:
    """The row after the tokens."""
    vocab = constraint.vocab
    row, rows = ServedRow(vocab).start(constraint, most), list[np.ndarray]()
    for token in tokens:
        rows.append(bits(row, vocab.words))
        assert row.read(token)
    rows.append(bits(row, vocab.words))
    wrong = sorted(set(range(vocab.size)) - set(ids_of(np.bitwise_or.reduce(rows))))
    for width in range(1, WIDEST + 1):
        check(ServedRow(vocab).start(constraint, most), tokens, rows, width, rng.choice(wrong))
    return rows[-1]


def check_splits(name: str, grammar: str, most: int | None, count: int | None = None) -> int:
    vocab, rng = vocabulary(name), random.Random(grammar)
    constraint, every = gl.compile(GRAMMARS[grammar], vocab), splits(name)
    whole, mask = constraint.matcher(), gl.allocate_mask(1, vocab.size)
    assert whole.advance_bytes(TEXT)
    whole.fill_mask(mask)
    for tokens in every if count is None else rng.sample(every, count):
        last = check_all_windows(constraint, most, tokens, rng)
        assert np.array_equal(mask[0], last)  # the text alone decides how it goes on
    return len(every)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("most", [None, 60])
def test_windows(name: str, grammar: str, most: int | None) -> None:
    assert check_splits(name, grammar, most, count=3)


@pytest.mark.proof
@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_every_split(name: str, grammar: str, record_property: Any) -> None:
    record_property("cases", check_splits(name, grammar, None))


SPECIAL = {"a few": "<|call|>", **({"llama3_1": "<|reserved_special_token_4|>"} if NAMES else {})}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_token_is_read_by_its_id_alone(name: str) -> None:
    """Its letters are text, in whatever tokens they come; a window across the token is read as one by one."""
    marker, letters = SPECIAL[name], [bytes([byte]) for byte in range(256)]
    few = gl.Vocabulary(
        [*letters, marker.encode(), b"<|", b"|>{", b"", b"<|never|>"], special_ids=[256, 260], stop_ids=[259]
    )
    vocab = few if name == "a few" else vocabulary(name)
    (token,) = (each for each in vocab.special_ids if vocab.token_bytes(each) == marker.encode())
    constraint = gl.compile(gl.Ban(["}"]) + Marked(marker) + ANSWER, vocab)
    by_byte = {vocab.token_bytes(each): int(each) for each in vocab.text_ids if len(vocab.token_bytes(each)) == 1}

    def spelled(text: str) -> list[int]:
        return [by_byte[bytes([byte])] for byte in text.encode()]

    tokens = [*spelled("so "), token, *spelled('{"a": []}')]
    assert set(vocab.stop_ids) <= set(ids_of(check_all_windows(constraint, None, tokens, random.Random(0))))
    row = ServedRow(vocab).start(constraint)
    text = spelled(f'so {marker}{{"a": []')
    assert row.validate([*text, *spelled("}")]) == text
    assert all(map(row.read, text))
    assert token in ids_of(bits(row, vocab.words))  # it has not come yet
