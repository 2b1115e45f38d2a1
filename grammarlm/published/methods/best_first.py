"""method="best_first": a search that goes on wherever it promises most, with a bound on how much it reads.

    out = gl.generate(model, prompt, items=shop, method="best_first", expansions=200, value=critic)
    out.score                                 # the value of the answer; without value= its log-probability

An expansion reads one text and values its most probable continuations. The next one is of the open text of the largest value,
wherever it stands: what is unlikely at first, and lost to a beam, is reached where it is valuable. Texts that are over compete, and
the first n on top are the answers. Without value= that is the log-probability, at the temperature and before masking.

As long as nothing is over the last expansions are kept for the longest open text, so there always is an answer.

Purpose: more often right. Forwards: expansions / at_once. Law: none, nothing is drawn. Not where the values of unfinished texts say
nothing.

Source: V-STAR (Spend Search Where It Pays: Value-Guided Structured Sampling and Optimization for Generative Recommendation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heappop, heappush

from grammarlm.decoding.arguments import MOST_ANSWERS, check_function, check_integer
from grammarlm.decoding.failures import answer_of
from grammarlm.decoding.methods.pools.best_of import number
from grammarlm.decoding.methods.searches.search import search
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.tree import Candidate, Tree

Ranked = tuple[float, Candidate]  # minus the value, and the text


@search
def best_first(
    tree: Tree,
    n: int,
    *,
    expansions: int | None = None,
    width: int = 64,
    at_once: int = 1,
    memory: int = 1 << 28,
    value: Callable[[str], float] | None = None,
) -> list[Result]:
    """The first n texts that are better than all that is open; nothing is sampled.

    expansions   texts that are read, at most; default: four times as many as one answer may need
    width        continuations of each that are gone on with, the most probable ones
    at_once      expansions that share a forward
    memory       bytes of the model's cache that are kept of open texts; of others more than a token is read again
    value        a function of the text so far: the larger, the sooner it is gone on with
    """
    check_integer("expansions", expansions, 1, optional=True)
    check_integer("width", width, 1, MOST_ANSWERS)
    check_integer("at_once", at_once, 1, MOST_ANSWERS)
    check_integer("memory", memory, 0)
    check_function("value", value)
    tree.keep_rows(memory)
    longest, found, over = tree.longest, list[Ranked](), list[Ranked]()
    left, heap = 4 * longest if expansions is None else expansions, [ranked(tree, tree.root, value)]
    if left < longest:
        raise ValueError(f"expansions={left} are fewer than an answer may need, {longest}; or lower max_tokens")
    while (heap or over) and len(found) < n:
        if over and (not heap or not left or over[0] < heap[0]):
            found.append(heappop(over))
            continue
        if not left:
            break
        spare = left if over or found else left - longest + max(one.text.length for _, one in heap)
        opened = [heappop(heap) for _ in range(min(at_once, spare, left, len(heap)))] or [deepest(heap)]
        left -= len(opened)
        tree.read([one for _, one in opened])
        for _, parent in opened:
            for one in tree.extend([parent], width):
                heappush(over if one.is_over else heap, ranked(tree, one, value))
    return [replace(tree.result_of(one), score=-rank) for rank, one in found]


def deepest(heap: list[Ranked]) -> Ranked:
    """Takes the longest text out of a heap; of several the best one."""
    found = min(heap, key=lambda one: (-one[1].text.length, one))
    heap.remove(found)
    heapify(heap)
    return found


def ranked(tree: Tree, one: Candidate, value: Callable[[str], float] | None) -> Ranked:
    return one.cost if value is None else -answer_of("value", value, tree.written(one.text), number), one
