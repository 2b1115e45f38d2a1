"""Tries of remainders that are found by their leaves, after keywords that end with a blank, against the oracle of patterns."""

import random

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.kernels.cpu.surveys import leaf_lists
from grammarlm.layout.stack import LEAF_LISTS, Field
from tests.counts import tiers
from tests.internals import current_epoch
from tests.laws.laws import assert_walk_equals_oracle
from tests.laws.vocabularies import TokenList
from tests.oracles.automata import TokenOracle
from tests.oracles.regex_oracle import Oracle

# Values begin with any letter, so that as many tokens remain after a blank as there are words; they go on in different ways.
VALUES = {"WORD": "[a-z]+", "MIXED": "[a-z][a-z0-9_]*", "CODE": "[a-z]+[0-9]+", "PAIR": "[a-z]+ [a-z]+"}
NUMBER = "[0-9]+"


def vocabulary(rng: random.Random, words: int) -> TokenList:
    """All bytes, and words: most with a blank before them, some with what stands after a value."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"", b"set", b" set "]
    for _ in range(words):
        letters = "".join(rng.choice("abcdefgh") for _ in range(rng.randint(1, 6)))
        rest = rng.choice(["", "", "", "7", "1;", ";", ";;", "; set", "_", " a", " ab;"])
        tokens.append((rng.choice(["", " ", " ", " ", "t "]) + letters + rest).encode())
    return TokenList([*tokens, b"</s>"], [len(tokens)], [], len(tokens) + 1)


def language(rng: random.Random, keywords: int) -> tuple[gl.Lark, str]:
    """Statements of a keyword with its blank, a value and what ends it; and the same as a pattern."""
    words = rng.sample(["set", "get", "let", "put", "hide", "show", "open", "shut", "join", "split"], keywords)
    parts = [(f"{word} ", rng.choice([*VALUES, "NUMBER"]), rng.choice([";", ";;"])) for word in words]
    rules = " | ".join(f'"{word}" {value} "{end}"' for word, value, end in parts)
    values = VALUES | {"NUMBER": NUMBER}
    used = {value: values[value] for _, value, _ in parts}
    terminals = "".join(f"{name}: /{pattern}/\n" for name, pattern in used.items())
    pattern = "|".join(f"{word}(?:{values[value]}){end}" for word, value, end in parts)
    return gl.Lark(f"start: one*\none: {rules}\n{terminals}"), f"(?:{pattern})*"


def check(seed: int, grammars: int, walks: int, words: int, room: bool = True) -> tuple[int, int]:
    """Walks over many grammars; how many lists of leaves were written down, and how many tries there are in all."""
    rng, lists, tries = random.Random(seed), 0, 0
    tokens = vocabulary(rng, words)
    vocab = tokens.vocabulary()
    for _ in range(grammars):
        grammar, pattern = language(rng, 6)
        constraint = gl.compile(grammar, vocab)
        arena = current_epoch(constraint).arena.words
        if not room:
            arena[Field.LEAF_LIST_COUNT] = LEAF_LISTS
        oracle = TokenOracle(Oracle(pattern), tokens.tokens, tokens.stop_ids, tokens.special_ids)
        for _ in range(walks):
            assert_walk_equals_oracle(constraint.matcher(), oracle, vocab, rng, 12)
        lists += int(arena[Field.LEAF_LIST_COUNT])
        tries += int(arena[Field.TRIE_COUNT]) - 1
    return lists, tries


@tiers("grammars, walks, words", (2, 6, 1500), (10, 20, 4000))
@pytest.mark.parametrize("seed", range(3))
def test_tries_found_by_their_leaves(seed: int, grammars: int, walks: int, words: int, record_property) -> None:
    lists, tries = check(seed, grammars, walks, words)
    record_property("lists", lists)
    assert 0 < lists < tries


def test_without_room_for_lists() -> None:
    assert check(3, 1, 6, 1500, room=False)[0] == LEAF_LISTS


def test_the_same_leaves_make_nothing() -> None:
    """Behind `k0 `, `k1 `, ... remains the same: one list, of one large trie."""
    tokens = vocabulary(random.Random(5), 3000)
    rules = " | ".join(f'"k{i} " WORD "{i};"' for i in range(10))
    constraint = gl.compile(gl.Lark(f"start: one*\none: {rules}\nWORD: /[a-z]+/\n"), tokens.vocabulary())
    arena, matcher, mask = (
        current_epoch(constraint).arena.words,
        constraint.matcher(),
        gl.allocate_mask(1, len(tokens.tokens)),
    )
    seen = []
    for i in range(10):
        assert matcher.advance_bytes(f"k{i}".encode())
        matcher.fill_mask(mask)
        seen.append((int(arena[Field.LEAF_LIST_COUNT]), int(arena[Field.X_NODES])))
        assert matcher.advance_bytes(f" a{i};".encode())
    lists, nodes = np.array(seen).T
    assert lists[0] >= 1
    assert (lists == lists[0]).all()
    assert (nodes[1:] - nodes[0] < leaf_lists.WORTH_NOTING).all()
