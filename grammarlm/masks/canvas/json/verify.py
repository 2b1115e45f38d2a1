"""Which passes decide a row: those of the states at hand, or of states that know what matters for it.

Where keys may come twice a completion is read by the machine (duplicate_keys/witness.py). If it is refused, the states are asked
that know why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grammarlm.masks.canvas.json.duplicate_keys.objects import clash_of
from grammarlm.masks.canvas.json.duplicate_keys.witness import EMPTY, Refused, Witness
from grammarlm.masks.canvas.protocol import Undecided

from .lengths import counted_to, longest_string

if TYPE_CHECKING:
    from .passes import JsonPasses


def settled(passes: JsonPasses) -> JsonPasses:
    """These, or passes of states that know what matters for the row."""
    decided = passes.is_completable and passes.has_apart_keys()
    if decided is None or (decided and passes.grid.has_free_keys):
        try:
            decided = Witness(passes).row() is not None
        except Refused as refused:
            return settled(amended(passes, refused.row))
    passes.is_completable = decided
    return passes


def amended(passes: JsonPasses, row: Sequence[int]) -> JsonPasses:
    """Passes over what says why the machine does not read a row."""
    text, states = [token for token in row if token not in passes.grid.stops], passes.states
    spelled, begun = b"".join(map(passes.grid.vocab.token_bytes, text)), passes.grid.begun
    clash = clash_of(passes.grid, row)
    if clash is not None and clash.key not in states.keys:
        passes.grid.follows_empty |= clash.key == EMPTY
        return passes.of_states(states._replace(keys=tuple(sorted((*states.keys, clash.key)))))
    lengths = states._replace(counted=max(states.counted, counted_to(longest_string(spelled, begun.characters))))
    if lengths != states:
        return passes.of_states(lengths)
    raise Undecided("a canvas: a completion is refused, and whether there is another is not decided")
