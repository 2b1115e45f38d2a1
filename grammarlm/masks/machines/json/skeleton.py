"""The forced bytes of a JSON text, not counting the white space between its tokens.

    {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": False}
    {            "name":"               the model may choose white space after the bracket, and before the string;
                 nothing else

`forced_bytes` ends where white space may come. What follows it is as forced where texts are natural and plain: all but
the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from grammarlm.masks.machines.json.vocabulary.blanks import BLANK_BYTES
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.token_facts import allowed_bytes, token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .epoch import JsonEpoch

Gap = Callable[[bytes], bytes | None]


def no_white_space(before: bytes) -> bytes:
    return b""


def skeleton(matcher: Matcher, limit: int = 256, gap: Gap = no_white_space) -> bytes:
    """What must come next, at most `limit` bytes; b"" where nothing is forced, and for texts that are not JSON.

    gap(bytes so far) is the white space to put where there may be some; None: stop there. White space that is refused
    there is left out.
    """
    if not matcher._automaton.epoch.writes_json or matcher.is_finished:
        return b""
    return matcher._made(lambda epoch, state: _skeleton(cast(JsonEpoch, epoch), state, limit, gap))


def may_be_forced(mask: np.ndarray, vocab: Vocabulary) -> bool:
    """Does a mask leave one next byte, not counting white space? A fast check; the answer is mostly no."""
    found = np.flatnonzero(allowed_bytes(mask, token_facts(vocab).byte_tokens)).tolist()
    return len([byte for byte in found if byte not in BLANK_BYTES]) == 1


def _skeleton(epoch: JsonEpoch, state: int, limit: int, gap: Gap) -> bytes:
    found = bytearray()
    while len(found) < limit and not epoch.accepting[state]:
        next_bytes: list[int] = np.flatnonzero(epoch.next_bytes(state)).tolist()
        if epoch.stands_between(state):
            is_free = any(byte in BLANK_BYTES for byte in next_bytes)
            next_bytes = [byte for byte in next_bytes if byte not in BLANK_BYTES]
            if is_free and len(next_bytes) == 1:
                blanks = gap(bytes(found))
                if blanks is None:
                    break
                after = epoch.after_bytes(state, blanks + bytes(next_bytes))
                if after:
                    found += blanks + bytes(next_bytes)
                    state = after
                    continue
        if len(next_bytes) != 1:
            break
        state = epoch.after_bytes(state, bytes(next_bytes))
        found += bytes(next_bytes)
    return bytes(found)
