"""What may stand at a position of a short row whose keys are free: tokens with which a completion was read.

States know the keys that are given, and the empty one. Where keys are of a language (`^a*$` has one for each length), or other
tokens do not make two keys differ, masked tokens can be left with a key that another place must have, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.protocol import Undecided

from .marked_row import NO_TOKENS
from .witness import Refused, Witness, Work, different

if TYPE_CHECKING:
    from grammarlm.masks.canvas.json.known_row import JsonRow

MOST_ASKED = 64  # tokens of a class; those of a larger one have keys enough


def not_shown(row: JsonRow, position: int, allowed: np.ndarray, known_refused: np.ndarray) -> np.ndarray:
    """Of the tokens of some classes at a masked position, without those that are refused, those that no completion has."""
    classes, refused, work = row.classes, [NO_TOKENS], Work()
    known = set(row.grid.shown.of(row.given)[:, position].tolist())
    known_classes = {int(classes.of[token]) for token in known}
    for one in np.flatnonzero(allowed & (classes.sizes > 0)).tolist():
        members = classes.members(one)
        if len(members) <= MOST_ASKED:
            left = members[~np.isin(members, known_refused)].tolist()
            lost = [token for token in left if token not in known and not is_shown(row, position, token, work)]
        else:
            lost = [] if one in known_classes or is_any_shown(row, position, members, work) else members.tolist()
        if lost:
            refused.append(np.array(lost, np.int64))
    return np.concatenate(refused)


def is_any_shown(row: JsonRow, position: int, members: np.ndarray, work: Work) -> bool:
    """Of a class with more members than there may be keys: if some may stand there, one of the first may."""
    keys = different(row.grid.vocab, len(row.tokens), members)
    return len(keys) > MOST_ASKED or any(is_shown(row, position, token, work) for token in keys.tolist())


def is_shown(row: JsonRow, position: int, token: int, work: Work) -> bool:
    """Is a completion read that has the token? Yes where the work, which all tokens of the position share, doesn't decide it:
    a commit does."""
    child = row.with_token(position, token)
    if not child.is_completable:
        return False
    try:
        return Witness(child, work).row() is not None
    except (Undecided, Refused):
        return True
