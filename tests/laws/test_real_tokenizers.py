"""The laws on tokenizers of real models, where GRAMMARLM_DATA has them: every id of every mask, tried one by one."""

import random
from functools import cache
from pathlib import Path

import pytest

import grammarlm as gl
from tests.laws.laws import assert_walk_equals_oracle
from tests.oracles.automata import State, TokenOracle
from tests.oracles.regex_oracle import Oracle
from tests.real_data import FOLDER, TOKENIZERS, needs_data

PATTERNS = [
    r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?",
    r"[\w.+-]+@\w+(\.\w{2,})+",
    r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){0,8}"',
    r"(?:[A-ZÀ-Þ][a-zß-ÿ]+ ){1,3}😀?",
    r"(?!.*the)[a-z ]*\.",
    r"\b\w+\b(?:\s\b\w+\b)*$\n?",
    r"(?u)[^\W\d_]+(?:, [^\W\d_]+)*",
    r"(?s).{3}",
]


class EveryByteOracle(TokenOracle):
    """Where each byte is a token of its own, what bytes can complete, tokens can: no search over all tokens."""

    def completable(self, state: State) -> bool:
        return self.oracle.completable_bytes(state)


@cache
def load(folder: Path) -> tuple[gl.Vocabulary, list[bytes]]:
    vocab = gl.Vocabulary.from_tokenizer(folder)
    tokens = [vocab.token_bytes(token) for token in range(vocab.size)]
    texts = {data for token, data in enumerate(tokens) if token not in vocab.special_ids}
    assert {bytes([byte]) for byte in (*range(0xC0), *range(0xC2, 0xF5))} <= texts, "a byte of UTF-8 has no token"
    return vocab, tokens


def check_tokenizer(folder: Path, pattern: str, steps: int) -> None:
    vocab, tokens = load(folder)
    token_oracle = EveryByteOracle(Oracle(pattern, 5000), tokens, vocab.stop_ids, vocab.special_ids)
    matcher = gl.compile(gl.Regex(pattern), vocab).matcher()
    assert_walk_equals_oracle(matcher, token_oracle, vocab, random.Random(f"{folder.name} {pattern}"), steps)


@needs_data
@pytest.mark.parametrize(
    ("folder", "pattern", "steps"),
    [
        *((FOLDER / "tokenizers" / "gpt2", pattern, 4) for pattern in PATTERNS[:3]),
        *(
            pytest.param(folder, pattern, 20, marks=pytest.mark.proof, id=f"{folder.name}-{pattern}")
            for folder in TOKENIZERS
            for pattern in PATTERNS
        ),
    ],
)
def test_every_id_of_every_mask(folder: Path, pattern: str, steps: int) -> None:
    check_tokenizer(folder, pattern, steps)
