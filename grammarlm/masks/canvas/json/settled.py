"""Which passes decide a row: those of the states at hand, or of states that know what matters for it.

Where keys may come twice (apart.py), or blanks be too many, a completion is read by the machine. If it is refused, the states are
asked that know why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from grammarlm.masks.canvas.protocol import Undecided

from .apart import EMPTY, Refused, Witness
from .doubts import tight_gaps
from .gaps import GapRow, may_be_broken
from .keys import tight_keys
from .lengths import counted_to, longest_string
from .overfull import overfull_gap
from .twice import keys_twice

if TYPE_CHECKING:
    from .residue import JsonPasses


def settled(passes: JsonPasses) -> JsonPasses:
    """These, or passes of states that know what matters for the row."""
    decided = passes.is_completable and passes.has_apart_keys()
    if decided is None or (decided and (passes.grid.has_free_keys or _may_break_blanks(passes))):
        try:
            decided = Witness(passes).row() is not None
        except Refused as refused:
            return settled(amended(passes, refused.row))
    passes.is_completable = decided
    further = None if decided else passes.grid.followed_further(passes.tokens, passes.states)
    return passes if further is None else settled(passes.of_states(further))


def amended(passes: JsonPasses, row: Sequence[int]) -> JsonPasses:
    """Passes over what says why the machine does not read a row."""
    text, states = [token for token in row if token not in passes.grid.stops], passes.states
    spelled, begun = b"".join(map(passes.grid.vocab.token_bytes, text)), passes.grid.begun
    opened = spelled if begun.key is None else b'{"' + begun.key + spelled
    new = {*keys_twice(opened), *(begun.keys & set(tight_keys([opened])))} - set(states.keys)
    if passes.repeats is not None and (enough := new & set(passes.repeats.enough or ())):
        new = enough  # the others are apart then, too
    if EMPTY in new:
        new, passes.grid.follows_empty = {EMPTY}, True  # other tokens make the others apart
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
