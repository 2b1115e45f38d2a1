"""Masks of draft trees by several engines: a part of `python -m benchmarks.drafts`.

Each engine has read the same beginning of a record under the same schema; the draft is the tokens of records that go on otherwise,
merged into a tree of 64 nodes, or those of one record as a chain. An engine's masks must allow each of these tokens where it
stands, or it is not timed.

    grammarlm     fill_tree: all nodes in one call
    xgrammar      traverse_draft_tree: all nodes in one call
    llguidance    its masks with draft tokens, which are for chains; a tree by reading tokens and taking them back, node after node,
                  which takes a tenth of the time of a chain to each leaf
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import grammarlm as gl
from training.corpus import words

NODES, BRANCHES = 64, 8
ROUNDS = 30
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "city": {"type": "string"},
        "job": {"type": "string"},
        "languages": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age", "city", "job", "languages"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Tree:
    """A draft after `said`; node i is tokens[i], after node parents[i], -1: the state."""

    said: list[int]
    tokens: list[int]
    parents: list[int]

    @classmethod
    def of(cls, said: list[int], paths: Sequence[Sequence[int]], most: int) -> Tree:
        """The first nodes of these paths, level by level."""
        places: dict[tuple[int, ...], int] = {(): -1}
        tokens: list[int] = []
        parents: list[int] = []
        for depth in range(max(map(len, paths))):
            for path in paths:
                above, here = tuple(path[:depth]), tuple(path[: depth + 1])
                if len(here) > depth and here not in places and above in places and len(tokens) < most:
                    places[here] = len(tokens)
                    tokens.append(path[depth])
                    parents.append(places[above])
        return cls(said, tokens, parents)

    @cached_property
    def children(self) -> list[list[int]]:
        """Of the state, then of each node."""
        found: list[list[int]] = [[] for _ in range(len(self.tokens) + 1)]
        for node, parent in enumerate(self.parents):
            found[parent + 1].append(node)
        return found


def trees(tokenizer: Any) -> dict[str, Tree]:
    texts = [
        json.dumps(
            {
                "name": words.GIVEN_NAMES[number] + " Turing",
                "age": 20 + 7 * number,
                "city": f"Lower {'abcdefgh'[number]} Harbour",
                "job": "writer of long letters and short notes on gardens",
                "languages": ["Portuguese", "Norwegian", "Esperanto", "Swahili", "Old Greek"][: 2 + number % 4] * 5,
            }
        )
        for number in range(BRANCHES)
    ]
    encoded = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    common = next(at for at, column in enumerate(zip(*encoded, strict=False)) if len(set(column)) > 1)
    said, rest = encoded[0][:common], [ids[common:] for ids in encoded]
    return {"tree": Tree.of(said, rest, NODES), "chain": Tree.of(said, rest[1:2], NODES)}


class Ours:
    name = "grammarlm"

    def __init__(self, tokenizer: Any):
        self.vocab = gl.Vocabulary.from_tokenizer(tokenizer)
        self.constraint = gl.compile(gl.JsonSchema(SCHEMA), self.vocab)

    def prepared(self, tree: Tree) -> tuple[Callable[[], Any], np.ndarray, list[int]]:
        """(what fills all masks, the masks, the row of each node, and first of the state)"""
        matcher = self.constraint.matcher()
        if not all(map(matcher.advance, tree.said)):
            raise ValueError("refuses the beginning")
        mask = gl.allocate_mask(len(tree.tokens) + 1, self.vocab.size)
        fill = lambda: gl.fill_tree(matcher, tree.tokens, tree.parents, mask)  # noqa: E731
        return fill, mask, list(range(len(tree.tokens) + 1))


class XGrammar:
    name = "xgrammar"

    def __init__(self, tokenizer: Any):
        import xgrammar

        self.module = xgrammar
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.width = info.vocab_size
        self.compiled = compiler.compile_json_schema(json.dumps(SCHEMA), any_whitespace=False)

    def prepared(self, tree: Tree) -> tuple[Callable[[], Any], np.ndarray, list[int]]:
        import torch

        matcher = self.module.GrammarMatcher(self.compiled)
        if not all(map(matcher.accept_token, tree.said)):
            raise ValueError("refuses the beginning")
        count = len(tree.tokens) + 1  # node 0 is the last token that was read
        child, sibling = np.full(count, -1), np.full(count, -1)
        for node in range(count - 1, 0, -1):
            above = tree.parents[node - 1] + 1
            sibling[node], child[above] = child[above], node
        children, siblings = torch.from_numpy(child), torch.from_numpy(sibling)
        tokens = torch.tensor([tree.said[-1], *tree.tokens])
        mask = self.module.allocate_token_bitmask(count, self.width)
        fill = lambda: matcher.traverse_draft_tree(children, siblings, tokens, mask)  # noqa: E731
        return fill, mask.numpy(), list(range(count))


class LLGuidance:
    name = "llguidance"

    def __init__(self, tokenizer: Any):
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        self.module, self.numpy = llguidance, llguidance.numpy
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        self.executor = llguidance.LLExecutor(num_threads=1)
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(SCHEMA))
        self.ready = llguidance.LLMatcher(self.tokenizer, grammar)

    def prepared(self, tree: Tree) -> tuple[Callable[[], Any], np.ndarray, list[int]]:
        matcher = self.ready.deep_copy()
        if not all(matcher.consume_token(token) for token in tree.said):
            raise ValueError("refuses the beginning")
        mask = self.numpy.allocate_token_bitmask(len(tree.tokens) + 1, self.tokenizer.vocab_size)
        if all(len(each) < 2 for each in tree.children):
            asked = [(matcher, 0, tree.tokens)]
            fill = lambda: self.numpy.fill_next_token_bitmask_par_with_draft_tokens(self.executor, asked, mask)  # noqa: E731
        else:
            fill = lambda: self.walked(matcher, tree, mask, -1)  # noqa: E731
        return fill, mask, list(range(len(mask)))

    def walked(self, matcher: Any, tree: Tree, mask: np.ndarray, node: int) -> None:
        """The masks of a node and of those below it, by reading tokens and taking them back."""
        self.numpy.fill_next_token_bitmask(matcher, mask, node + 1)
        for child in tree.children[node + 1]:
            matcher.consume_token(tree.tokens[child])
            self.walked(matcher, tree, mask, child)
            matcher.rollback(1)


ENGINES = (Ours, XGrammar, LLGuidance)


def measured(tokenizer: Any, rounds: int = ROUNDS) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Microseconds of all masks of each draft, by engine, in turns; and what was skipped, and why."""
    ready, skipped = [], []
    for kind in ENGINES:
        try:
            ready.append(kind(tokenizer))
        except ImportError as error:
            skipped.append(f"{kind.name} is skipped: it cannot be imported ({error})")
    found: dict[str, dict[str, float]] = {}
    for shape, tree in trees(tokenizer).items():
        calls = {}
        for engine in ready:
            try:
                calls[engine.name] = checked(*engine.prepared(tree), tree)
            except ValueError as error:
                skipped.append(f"{engine.name} is skipped on the {shape}: it {error}")
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                start = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - start)
        found[shape] = {name: 1e6 * statistics.median(each) for name, each in times.items()}
    return found, skipped


def checked(fill: Callable[[], Any], mask: np.ndarray, rows: list[int], tree: Tree) -> Callable[[], Any]:
    """The same call, if each token of the draft is allowed where it stands."""
    fill()
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        if not int(mask[rows[parent + 1], token >> 5]) >> (token & 31) & 1:
            raise ValueError(f"forbids token {token} of the draft")
    return fill


def table(found: dict[str, dict[str, dict[str, float]]]) -> tuple[list[str], list[list[str]]]:
    """A row for each vocabulary and shape."""
    names = [kind.name for kind in ENGINES]
    rows = []
    for vocabulary, shapes in found.items():
        for shape, times in shapes.items():
            cells = [f"{times[name]:.0f}" if name in times else "-" for name in names]
            ratios = [f"{times['grammarlm'] / times[name]:.2f}" if name in times else "-" for name in names[1:]]
            rows.append([f"{vocabulary}, {shape}", *cells, *ratios])
    return [f"{NODES} nodes", *(f"{name}, us" for name in names), *(f"ours / {name}" for name in names[1:])], rows
