"""The likeliest continuations of a text: what followed its longest known suffix most often.

Two trees are asked, the text's own and that of finished texts. A path goes on with the child that was taken most often. The chance
that all of it is drawn is the product over its tokens of  count of the child / count of the node,  and of a merit: how often the
first token after a match of so many tokens of that tree was right so far. A path ends where its chance falls below `least`; the
one whose chances have the greatest sum, the number of its tokens that are expected to be drawn, is the draft.

For a tree of drafts, the branches beside the paths follow, the likeliest first; then the least likely last tokens are taken away
until there are no more than `most`.
"""

from collections import namedtuple

import numpy as np
from numba import carray, float64, int64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.suffix import (
    CHOICES,
    END,
    LONGEST,
    NOTHING,
    OTHER,
    OWN,
    ROOT,
    SEEN,
    Field,
    Merit,
    Node,
    SideBranch,
)

from .branches import arrange, best_choice, is_new, note, trim
from .match import longest_other, longest_own, node_of, offset_of
from .tree import token_at, tree_of

FADES = 0.98  # of what a merit was with each later draft

# `merits`: float64 [2 trees, LONGEST + 1, Merit.WIDTH]; `runs`: int32 [2 or more, 1 + length], in each row the number of tokens and
# the tokens; `chances`: float64, the same shape, how many tokens an earlier run has already, and the chances; `choices`: float64
# [1 + CHOICES, SideBranch.WIDTH], of which the first row has their number.
Draft = namedtuple("Draft", ["merits", "runs", "chances", "choices"])


@kernel("int64(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64)", holds_gil=True)
def suffix_propose(
    own_address,
    other_address,
    merits_address,
    runs_address,
    chances_address,
    choices_address,
    length,
    count,
    most,
    least,
):
    """Writes up to `count` runs of up to `length` tokens and returns their number; `least` in millionths."""
    own, other = tree_of(own_address), tree_of(other_address)
    shape = (max(count, 2), 1 + length)
    draft = Draft(
        carray(pointer(merits_address), (2, LONGEST + 1, int64(Merit.WIDTH)), np.float64),
        carray(pointer(runs_address), shape, np.int32),
        carray(pointer(chances_address), shape, np.float64),
        carray(pointer(choices_address), (1 + CHOICES, int64(SideBranch.WIDTH)), np.float64),
    )
    lowest = float64(least) * 1e-6
    draft.choices[0, 0] = 0
    own_score = from_match(own, own, OWN, draft, lowest)
    score = from_match(own, other, OTHER, draft, lowest)
    arrange(draft, OWN if own_score >= score else OTHER)
    found = int64(draft.runs[0, 0] > 0)
    if 0 < found < count and is_new(draft.runs, 1):
        found += 1
    while 0 < found < count:
        choice = best_choice(draft.choices)
        if choice == NOTHING:
            break
        known = draft.choices[0, 0]
        if draft.choices[choice, SideBranch.SOURCE] == OWN:
            from_choice(own, draft, choice, found, lowest)
        else:
            from_choice(other, draft, choice, found, lowest)
        if is_new(draft.runs, found):
            found += 1
        else:
            draft.choices[0, 0] = known
    trim(draft, found, most)
    return found


@part
def from_match(own, tree, source, draft, least):
    """The path after the longest suffix in a tree, as the run of that tree's number; its score, -1 if there is none."""
    if source == OWN:
        match, place = longest_own(own)
    else:
        match, place = longest_other(tree, own)
    draft.runs[source, 0] = draft.chances[source, 0] = 0
    score = float64(-1)
    if match > 0:
        score = follow(tree, draft, source, source, match, node_of(place), offset_of(place), 1.0, least)
    guesses = own.facts[Field.GUESSES + 2 * source : Field.GUESSES + 2 * source + 2]
    guesses[0], guesses[1] = (match if draft.runs[source, 0] > 0 else 0), draft.runs[source, 1]
    return score


@part
def from_choice(tree, draft, choice, run, least):
    """The path that goes another way than an earlier run."""
    runs, choices = draft.runs, draft.choices
    kept, before = int64(choices[choice, SideBranch.KEPT]), int64(choices[choice, SideBranch.RUN])
    node = int64(choices[choice, SideBranch.NODE])
    chance = choices[choice, SideBranch.CHANCE]
    choices[choice, SideBranch.CHANCE] = 0
    for k in range(kept):
        runs[run, 1 + k], draft.chances[run, 1 + k] = runs[before, 1 + k], draft.chances[before, 1 + k]
    runs[run, 1 + kept], draft.chances[run, 1 + kept] = tree.nodes[node, Node.TOKEN], chance
    runs[run, 0], draft.chances[run, 0] = kept + 1, kept
    source, match = int64(choices[choice, SideBranch.SOURCE]), int64(choices[choice, SideBranch.MATCH])
    follow(tree, draft, source, run, match, node, int64(1), chance, least)


@part
def follow(tree, draft, source, run, match, node, offset, chance, least):
    """Lengthens a run from a place of a tree on; the sum of the chances of its new tokens."""
    nodes, runs = tree.nodes, draft.runs
    score, start = 0.0, runs[run, 0]
    for k in range(start, runs.shape[1] - 1):
        tried = draft.merits[source, min(match + k, LONGEST)]
        going = chance * tried[Merit.DRAWN] / tried[Merit.TRIED]
        if offset < nodes[node, Node.LENGTH]:
            token = token_at(tree, nodes[node, Node.START] + offset)
            offset += 1
        elif nodes[node, Node.CHILD] != ROOT:
            # the running text's own suffix is counted at the node, and went to no child
            total = float64(nodes[node, Node.COUNT] - int64(source == OWN and k == 0))
            best, second = best_children(nodes, node, source == OWN)
            if second != ROOT:
                share = min(1.0, nodes[second, Node.COUNT] / total)
                note(draft.choices, going * share, source, second, run, k, match)
            going *= min(1.0, nodes[best, Node.COUNT] / total)
            node, offset = best, int64(1)
            token = nodes[node, Node.TOKEN]
        else:  # beyond the windows: what followed the last one
            place = nodes[node, Node.START] + offset
            if (place - tree.facts[Field.LAST]) & (len(tree.text) - 1) == 0:
                break
            token = token_at(tree, place)
            offset += 1
            if token == END:
                break
        if going < least and k > 0:
            break
        chance = going
        score += chance
        runs[run, 1 + k], draft.chances[run, 1 + k] = token, chance
        runs[run, 0] = k + 1
    return score


@part
def best_children(nodes, node, oldest):
    """The two that were taken most often, of those used last; of equals the one used last, or the `oldest`; ROOT: there is none."""
    best, second, seen = int64(nodes[node, Node.CHILD]), int64(ROOT), 1
    child = int64(nodes[best, Node.NEXT])
    while child != ROOT and seen < SEEN:
        count = nodes[child, Node.COUNT]
        if count > nodes[best, Node.COUNT] or (oldest and count == nodes[best, Node.COUNT]):
            best, second = child, best
        elif second == ROOT or count > nodes[second, Node.COUNT]:
            second = child
        child, seen = int64(nodes[child, Node.NEXT]), seen + 1
    return best, second


@kernel("void(int64, int64, int64)", holds_gil=True)
def suffix_judge(own_address, merits_address, token):
    """This token was drawn where the trees have proposed theirs."""
    facts = tree_of(own_address).facts
    merits = carray(pointer(merits_address), (2, LONGEST + 1, int64(Merit.WIDTH)), np.float64)
    for source in range(2):
        match, guess = facts[Field.GUESSES + 2 * source], facts[Field.GUESSES + 2 * source + 1]
        if match > 0:
            merit = merits[source, min(match, LONGEST)]
            merit[Merit.DRAWN] = FADES * merit[Merit.DRAWN] + (1.0 if guess == token else 0.0)
            merit[Merit.TRIED] = FADES * merit[Merit.TRIED] + 1.0
            facts[Field.GUESSES + 2 * source] = 0
