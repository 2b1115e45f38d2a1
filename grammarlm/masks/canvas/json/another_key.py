"""Tokens beside a key of a row that can be part of another key: they need not be refused with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammarlm.masks.canvas.protocol import MASKED

from .spans import BEFORE_KEYS, BLANKS
from .texts import token_of

if TYPE_CHECKING:
    from .repeats import Repeats

FILLERS = b"a", b"0"  # texts of tokens that make another key of one


def makes_another(repeats: Repeats, position: int, token: int, key: bytes) -> bool:
    """Is there a completion in which a masked token beside this one, which may be part of a key of the row, makes another key
    of it, one that the row has nowhere? False where that is not known at once."""
    spelled = repeats.texts[token]
    head, quote, tail = spelled.partition(b'"')
    before = head if not quote or key.endswith(head) else None
    after = before if not quote else None
    if quote and key.startswith(tail) and head.rstrip(BLANKS)[-1:] in BEFORE_KEYS:
        before, after = None, tail
    bound, keys = repeats.bound, repeats.keys
    if bound is None or b'"' in tail or not (before or after):
        return False
    is_behind, is_before = (
        repeats.text[position + 1 : position + 2] == [MASKED],
        repeats.text[max(0, position - 1)] == MASKED,
    )
    for filler in FILLERS:
        more = token_of(repeats.vocab, filler)
        if more is None:
            continue
        may_precede = before and position and is_before and not any(filler + before in other for other in keys)
        if may_precede and bound.leads_on(position - 1, [more, token]):
            return True
        may_follow = after and is_behind and not any(after + filler in other for other in keys)
        if may_follow and bound.leads_on(position, [token, more]):
            return True
    return False
