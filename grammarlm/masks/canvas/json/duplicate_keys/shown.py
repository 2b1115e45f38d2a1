"""What may stand at a position of a short row whose keys may be too few: tokens with which a completion was read.

States know the keys that are given, and the empty one. Where keys are of a language (`^a*$` has one for each length), or other
tokens did not make two keys differ, masked tokens can be left with a key that another place must have, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED, Undecided

from .witness import Refused, Witness, Work

if TYPE_CHECKING:
    from grammarlm.masks.canvas.json.passes import JsonPasses

    from .answers import Answer

MOST_KEPT, MOST_NUMBERS = 128, 1 << 18
MOST_ASKED = 64  # tokens of a class; those of a larger one have keys enough


class ShownRows:
    """Completions that were read, of the last rows."""

    def __init__(self, length: int):
        self._rows, self._most = np.zeros((0, length), np.int64), max(1, min(MOST_KEPT, MOST_NUMBERS // length))

    def add(self, row: list[int]) -> None:
        self._rows = np.concatenate([[row], self._rows[: self._most - 1]])

    def of(self, given: np.ndarray) -> np.ndarray:
        """int64 [N, L]: those that are completions of a row, the latest first."""
        found: np.ndarray = self._rows[((given == MASKED) | (given == self._rows)).all(1)]
        return found


def only_shown(passes: JsonPasses, position: int, found: Answer) -> Answer:
    """What may stand at a masked position, without tokens that no completion has."""
    classes, refused, work = passes.classes, list[np.ndarray](), Work()
    known = set(passes.grid.shown.of(np.array(passes.tokens))[:, position].tolist())
    known_classes = {int(classes.of[token]) for token in known}
    for one in np.flatnonzero(found.classes & (classes.sizes > 0)).tolist():
        members = classes.members(one)
        if len(members) <= MOST_ASKED:
            left = members[~np.isin(members, found.refused)].tolist()
            lost = [token for token in left if token not in known and not is_shown(passes, position, token, work)]
        else:
            lost = [] if one in known_classes or is_any_shown(passes, position, members, work) else members.tolist()
        if lost:
            refused.append(np.array(lost, np.int64))
    return replace(found, refused=np.union1d(found.refused, np.concatenate(refused)), shown=None) if refused else found


def is_any_shown(passes: JsonPasses, position: int, members: np.ndarray, work: Work) -> bool:
    """Of a class with more members than there may be keys: if some may stand there, one of the first may."""
    keys = Witness(passes).different(members)
    return len(keys) > MOST_ASKED or any(is_shown(passes, position, token, work) for token in keys.tolist())


def is_shown(passes: JsonPasses, position: int, token: int, work: Work) -> bool:
    """Is a completion read that has the token? Yes where the work, which all tokens of the position share, doesn't decide it:
    a commit does."""
    child = passes.with_token(position, token)
    if not child.is_completable or child.has_apart_keys() is False:
        return False
    try:
        return Witness(child, work).row() is not None
    except (Undecided, Refused):
        return True
