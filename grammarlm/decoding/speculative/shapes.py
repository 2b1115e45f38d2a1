"""The shapes of draft trees: how what may follow a node becomes nodes.

chain        the best token, again and again
fixed        so many children at each depth
best_first   the next node is always the one that the draft finds most probable
distinct     several children at each node, drawn without replacement
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from grammarlm.decoding.readers.draft_tree import ROOT

from .drafters.combined import Combined
from .drafters.drafter import Candidates, Drafter, NodeDrafter, RunDrafter, trying
from .draws import Shape, goes_on, log_chances, taken
from .growth import NODES, Growth

WIDTHS = (4, 3, 2)  # children of the best node at each depth of a fixed tree; 1 below
DISTINCT_WIDTHS = (3, 2, 2)
BRANCHES = 4  # runs that are merged to a tree

# How many tokens of all chains pay, of their lengths and how probable each of their tokens is to be drawn
Pays = Callable[[Sequence[tuple[int, float]]], int]


def grow(shape: Shape, drafter: Drafter, growths: Sequence[Growth], pays: Pays | None = None) -> None:
    """Drafts the trees of these answers.

    What a drafter that fails has drafted before stays: to give up a draft because of its tokens would change the law of lossless
    rules, which draw from the target's over all tokens that may be drafted.
    """
    if isinstance(drafter, Combined):
        if shape.name == "chain":
            one_of(shape, drafter, growths, pays)
        else:
            all_of(shape, drafter, growths)
    elif not drafter.has_failed:
        with trying(drafter):
            if isinstance(drafter, RunDrafter):
                runs_of(shape, drafter, growths)
            elif isinstance(drafter, NodeDrafter) and growths:
                drafter.open(growths)
                SHAPES[shape.name](shape, drafter, growths)
                drafter.close(growths)


def runs_of(shape: Shape, drafter: RunDrafter, growths: Sequence[Growth]) -> None:
    drafter.open(growths)
    for growth in growths:
        for run in drafter.runs(growth, min(shape.length, growth.room), 1 if shape.name == "chain" else BRANCHES):
            growth.add_run(run)


def all_of(shape: Shape, drafter: Combined, growths: Sequence[Growth]) -> None:
    """The branches of all members, the most trusted first."""
    for number in drafter.by_merit:
        for growth in growths:
            growth.drafter = number
        grow(shape, drafter.members[number], growths)


def one_of(shape: Shape, drafter: Combined, growths: Sequence[Growth], pays: Pays | None = None) -> None:
    """The chain of the member that promises the most tokens; another's where the grammar forbids the first token of that.

    `pays` says how much of the chains is worth it, before any token is held to a grammar.
    """
    waiting: dict[int, list[Growth]] = {}  # for members that draft node by node, all answers at once
    for _, member in drafter.working:
        if isinstance(member, RunDrafter):
            with trying(member):
                member.open(growths)
    found = [proposals(shape, drafter, growth) for growth in growths]
    most = shape.length
    if pays is not None:
        most = pays([(len(runs[0][1]), drafter.rate(runs[0][0])) if runs else (0, 0.0) for runs in found])
    for growth, runs in zip(growths, found, strict=True):
        for number, run in runs if most else ():
            growth.drafter = number
            if isinstance(run, range):
                waiting.setdefault(number, []).append(growth)
                break
            growth.add_run(run[:most])
            if growth.tree:
                break
        growth.others = [each for each in runs if each[0] != growth.drafter and not isinstance(each[1], range)]
    for number, some in waiting.items():
        grow(shape, drafter.members[number], some)


def proposals(shape: Shape, drafter: Combined, growth: Growth) -> list[tuple[int, Sequence[int]]]:
    """Members and their chains, the most promising first; a range for members that draft node by node."""
    found: list[tuple[int, Sequence[int]]] = []
    for number, member in drafter.working:
        if isinstance(member, RunDrafter):
            with trying(member):
                runs = member.runs(growth, min(shape.length, growth.room), 1)
                if runs and runs[0]:
                    found.append((number, list(runs[0])))
        else:
            found.append((number, range(shape.length)))
    return sorted(found, key=lambda each: -drafter.promise(each[0], len(each[1])))


def chain(shape: Shape, drafter: NodeDrafter, growths: Sequence[Growth]) -> None:
    """Goes on where a chain has been begun."""
    if drafter.own_shape and not any(growth.tree for growth in growths):
        drafter.in_own_shape(shape, growths)
    else:
        levels(shape, drafter, growths, ())


def fixed(shape: Shape, drafter: NodeDrafter, growths: Sequence[Growth]) -> None:
    levels(shape, drafter, growths, shape.widths or WIDTHS)


def distinct(shape: Shape, drafter: NodeDrafter, growths: Sequence[Growth]) -> None:
    levels(shape, drafter, growths, shape.widths or DISTINCT_WIDTHS)


def levels(shape: Shape, drafter: NodeDrafter, growths: Sequence[Growth], widths: Sequence[int]) -> None:
    """Depth by depth: so many children of the best node there, one less for each rank that another node's path has lost.

    The best child of a node loses none, the second one rank, and so on; the best path goes on to the full length. Without widths
    it is a chain, which goes on where it has been begun.
    """
    tips = [(growth, ROOT if widths else growth.tip, 0) for growth in growths]
    for depth in range(shape.length):
        most = widths[depth] if depth < len(widths) else 1
        tips = [tip for tip in tips if tip[2] < most and tip[0].depth(tip[1]) < tip[0].room]
        if not tips:
            return
        found = drafter.after([(growth, node) for growth, node, _ in tips], most)
        below = []
        for (growth, node, lost), candidates in zip(tips, found, strict=True):
            for rank, child in enumerate(children(shape, growth, node, candidates, most - lost)):
                if goes_on(shape, growth, child, candidates):
                    below.append((growth, child, lost + rank))
        tips = below


def children(shape: Shape, growth: Growth, node: int, candidates: Candidates, width: int) -> list[int]:
    """New nodes, at most `width`."""
    added: list[int] = []
    for token in taken(shape, growth, node, candidates, width):
        before = len(growth.tree)
        child = growth.add(token, node)
        if child is not None and (len(growth.tree) > before or candidates.row is None):
            added.append(child)
        if len(added) == width:
            break
    return added


def best_first(shape: Shape, drafter: NodeDrafter, growths: Sequence[Growth]) -> None:
    """Each round takes the most probable open token of each answer, and asks what may follow it."""
    shape = replace(shape, draws="coupled")  # a choice among draws is none of the rules' draws
    heaps: dict[Growth, list[tuple[float, int, int, int]]] = {growth: [] for growth in growths}
    number = 0
    tips = [(growth, ROOT, 0.0) for growth in growths]
    while tips:
        found = drafter.after([(growth, node) for growth, node, _ in tips], BRANCHES)
        for (growth, node, log_p), candidates in zip(tips, found, strict=True):
            tokens = taken(shape, growth, node, candidates, BRANCHES)
            for token, more in zip(tokens, log_chances(growth, tokens, candidates), strict=True):
                heapq.heappush(heaps[growth], (-(log_p + more), number, node, token))
                number += 1
        tips = [tip for growth in growths if (tip := next_best(shape, growth, heaps[growth])) is not None]


def next_best(
    shape: Shape, growth: Growth, heap: list[tuple[float, int, int, int]]
) -> tuple[Growth, int, float] | None:
    """Adds the most probable open tokens that may come, up to one that may be followed; None where the tree is finished."""
    while heap and len(growth.tree) < min(NODES, 4 * shape.length):
        less, _, parent, token = heapq.heappop(heap)
        before = len(growth.tree)
        node = growth.add(token, parent)
        if node is not None and len(growth.tree) > before and math.exp(-less) >= 1 - (shape.stop or 1.0):
            return growth, node, -less
    return None


SHAPES: dict[str, Callable[[Shape, NodeDrafter, Sequence[Growth]], None]] = {
    "chain": chain,
    "fixed": fixed,
    "best_first": best_first,
    "distinct": distinct,
}
