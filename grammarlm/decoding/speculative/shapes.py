"""The shapes of draft trees: how what may follow a node becomes nodes.

chain   the best token, again and again
fixed   so many children at each depth

Others are published ones (decoding/systems.py): a tree is a function of a drafter and the answers' builders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.systems import RANKS, TREES, system

from .draft_builder import DraftBuilder
from .drafters.combined import Combined
from .drafters.drafter import Candidates, Drafter, NodeDrafter, RunDrafter, trying
from .draws import goes_on, taken

WIDTHS = (4, 3, 2)  # children of the best node at each depth of a fixed tree; 1 below
BRANCHES = 4  # runs that are merged to a tree

# How many tokens of all chains pay, of their lengths and how probable each of their tokens is to be drawn
Pays = Callable[[Sequence[tuple[int, float]]], int]


def grow(drafter: Drafter, growths: Sequence[DraftBuilder], pays: Pays | None = None) -> None:
    """Drafts the trees of these answers, which have one shape.

    What a drafter that fails has drafted before stays: to give up a draft because of its tokens would change the law of lossless
    rules, which draw from the target's over all tokens that may be drafted.
    """
    if not growths:
        return
    tree = growths[0].shape.tree
    if isinstance(drafter, Combined):
        if tree == "chain":
            one_of(drafter, growths, pays)
        else:
            all_of(drafter, growths)
    elif not drafter.has_failed:
        with trying(drafter):
            drafter.open(growths)
            if isinstance(drafter, RunDrafter):
                runs_of(drafter, growths, 1 if tree == "chain" else BRANCHES)
            elif isinstance(drafter, NodeDrafter):
                system(TREES.get(tree, RANKS))(drafter, growths)


def runs_of(drafter: RunDrafter, growths: Sequence[DraftBuilder], count: int) -> None:
    for growth in growths:
        for run in drafter.runs(growth, min(growth.shape.length, growth.room), count):
            growth.add_run(run)


def all_of(drafter: Combined, growths: Sequence[DraftBuilder]) -> None:
    """The branches of all members, the most trusted first."""
    for number in drafter.by_merit:
        for growth in growths:
            growth.drafter = number
        grow(drafter.members[number], growths)


def one_of(drafter: Combined, growths: Sequence[DraftBuilder], pays: Pays | None = None) -> None:
    """The chain of the member that promises the most tokens; another's where the grammar forbids the first token of that.

    `pays` says how much of the chains is worth it, before any token is held to a grammar.
    """
    waiting: dict[int, list[DraftBuilder]] = {}  # for members that draft node by node, all answers at once
    for _, member in drafter.working:
        if isinstance(member, RunDrafter):
            with trying(member):
                member.open(growths)
    found = [proposals(drafter, growth) for growth in growths]
    most = growths[0].shape.length
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
        grow(drafter.members[number], some)


def proposals(drafter: Combined, growth: DraftBuilder) -> list[tuple[int, Sequence[int]]]:
    """Members and their chains, the most promising first; a range for members that draft node by node."""
    found: list[tuple[int, Sequence[int]]] = []
    for number, member in drafter.working:
        if isinstance(member, RunDrafter):
            with trying(member):
                runs = member.runs(growth, min(growth.shape.length, growth.room), 1)
                if runs and runs[0]:
                    found.append((number, list(runs[0])))
        else:
            found.append((number, range(growth.shape.length)))
    return sorted(found, key=lambda each: -drafter.promise(each[0], len(each[1])))


def chain(drafter: NodeDrafter, growths: Sequence[DraftBuilder]) -> None:
    levels(drafter, growths, ())


def fixed(drafter: NodeDrafter, growths: Sequence[DraftBuilder]) -> None:
    levels(drafter, growths, growths[0].shape.widths or WIDTHS)


def levels(drafter: NodeDrafter, growths: Sequence[DraftBuilder], widths: Sequence[int]) -> None:
    """Depth by depth: so many children of the best node there, one less for each rank that another node's path has lost.

    The best child of a node loses none, the second one rank, and so on; the best path goes on to the full length. Without widths
    it is a chain, which goes on where it has been begun.
    """
    tips = [(growth, ROOT if widths else growth.tip, 0) for growth in growths]
    for depth in range(growths[0].shape.length):
        most = widths[depth] if depth < len(widths) else 1
        tips = [tip for tip in tips if tip[2] < most and tip[0].depth(tip[1]) < tip[0].room]
        if not tips:
            return
        found = drafter.after([(growth, node) for growth, node, _ in tips], most)
        below = []
        for (growth, node, lost), candidates in zip(tips, found, strict=True):
            for rank, child in enumerate(children(growth, node, candidates, most - lost)):
                if goes_on(growth, child, candidates):
                    below.append((growth, child, lost + rank))
        tips = below


def children(growth: DraftBuilder, node: int, candidates: Candidates, width: int) -> list[int]:
    """New nodes, at most `width`."""
    added: list[int] = []
    for token in taken(growth, node, candidates, width):
        before = len(growth.tree)
        child = growth.add(token, node)
        if child is not None and (len(growth.tree) > before or candidates.row is None):
            added.append(child)
        if len(added) == width:
            break
    return added
