"""Which passes decide a row: those of the states at hand, or of states that know what matters for it.

Where keys may come twice, or blanks be too many, a completion is read by the machine. If it is refused, the states are asked that
know why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED, Undecided

from .doubts import tight_gaps
from .gaps import GapRow, may_be_broken
from .keys import tight_keys
from .lengths import counted_to, longest_string
from .overfull import overfull_gap
from .twice import keys_twice

if TYPE_CHECKING:
    from .residue import JsonPasses

NEAR = 1_000.0  # a score beyond those of plain tokens


def settled(passes: JsonPasses) -> JsonPasses:
    """These, or passes of states that know what matters for the row."""
    decided = passes.is_completable and passes.has_apart_keys()
    if decided is None or (decided and _may_break_blanks(passes)):
        latest = passes.grid.latest_read.get(passes.states)
        for near in (None,) if latest is None else (latest, None):
            if _settles(passes, witness(passes, passes.some, near)):
                return passes  # found at once; what follows finds one of the fewest blanks
        row = witness(passes, passes.inner.best)
        return passes if _settles(passes, row) else settled(amended(passes, row))
    passes.is_completable = decided
    further = None if decided else passes.grid.followed_further(passes.tokens, passes.states)
    return passes if further is None else settled(passes.of_states(further))


def _settles(passes: JsonPasses, row: list[int]) -> bool:
    """Does the machine read a completion? Then rows after this one look for one like it."""
    is_read = passes.is_read(row)
    if is_read:
        passes.grid.latest_read[passes.states] = row
    return is_read


def witness(
    passes: JsonPasses, chosen: Callable[[np.ndarray], np.ndarray], near: Sequence[int] | None = None
) -> list[int]:
    """Some completion, as the lattice has it: of few blanks and short tokens, since caps are not among its states. `near`: one
    that it is like where it can be."""
    plain, of = passes.grid.plain_tokens(passes.classes), passes.classes.of
    scores, holes = plain.scores, np.flatnonzero(np.array(passes.tokens) == MASKED)
    if near is not None:
        scores = scores.copy()
        scores[holes, of[near][holes]] += NEAR
    classes = chosen(scores)
    rng, row = np.random.default_rng(0), list(passes.tokens)
    for i in holes.tolist():
        tokens = plain.of(int(classes[i]))
        row[i] = int(tokens[rng.integers(len(tokens))])
        if near is not None and of[near[i]] == classes[i]:
            row[i] = near[i]
    return row


def amended(passes: JsonPasses, row: Sequence[int]) -> JsonPasses:
    """Passes over what says why the machine does not read a row."""
    text, states = [token for token in row if token not in passes.grid.stops], passes.states
    spelled, begun = b"".join(map(passes.grid.vocab.token_bytes, text)), passes.grid.begun
    opened = spelled if begun.key is None else b'{"' + begun.key + spelled
    new = {*keys_twice(opened), *(begun.keys & set(tight_keys([opened])))} - set(states.keys)
    if passes.repeats is not None and (enough := new & set(passes.repeats.enough or ())):
        new = enough  # the others are apart then, too
    if new:
        return passes.of_states(states._replace(keys=tuple(sorted({*states.keys, *new}))))
    longest = longest_string(spelled, begun.characters)
    lengths = states._replace(counted=max(states.counted, counted_to(longest)))
    blanks = states._replace(counts_blanks=True)
    likely = (blanks, lengths) if overfull_gap(passes.grid, row) else (lengths, blanks)
    further = next((one for one in likely if one != states), None)
    if further is not None:
        return passes.of_states(further)
    raise Undecided("a canvas: a completion is refused, and whether there is another is not decided")


def _may_break_blanks(passes: JsonPasses) -> bool:
    """May every completion have more blanks in a gap than the machine reads?"""
    if passes.states.counts_blanks or not passes.grid.caps_blanks:
        return False
    tokens, begun = passes.grid.text(passes.tokens), passes.grid.begun.blanks
    tight, is_open = tight_gaps(tokens, passes.grid.vocab, begun), len(tokens) == len(passes.tokens)
    if len(tight) != 1:
        return bool(tight)
    return all(may_be_broken(tight[0], tokens, is_open, row) for row in _gap_rows(passes))


def _gap_rows(passes: JsonPasses) -> Iterator[GapRow]:
    """Rows all of whose completions are some in which keys are apart, those first that take less. Where there are none, the
    completions of one are not asked for."""
    if passes.repeats is not None and passes.repeats.twins:
        if passes.repeats.bound is not None and passes.repeats.bound.is_completable:
            yield passes.repeats.bound
        return
    if passes.low is not None:
        yield passes.low
    elif passes.lattice.table.micro_order is not None:
        yield passes.inner
