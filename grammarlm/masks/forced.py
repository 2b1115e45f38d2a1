"""What must come next: as tokens, or as bytes in any tokenization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .mask_array import ids_of, only_bit
from .matcher_like import MatcherLike
from .runtime.limits import Clock


def tokens(matcher: MatcherLike, limit: int) -> list[int]:
    """The chain of masks with exactly one bit, up to a stop id."""
    ahead, clock = matcher._probe(), clock_of(matcher)
    chain: list[int] = []
    while len(chain) < limit:
        clock.tick()
        token = only_bit(ahead._row())
        if token is None or token in ahead._stops or not ahead.advance(token):
            break
        chain.append(token)
    return chain


def text(matcher: MatcherLike, limit: int) -> bytes:
    """The longest common prefix of all texts that tokens can spell from here.

    Byte by byte: a byte is forced if all tokens that may be half read at this place agree on it. Where one of them ends
    others may begin; of several that end there the one counts that took the fewest tokens, because with a budget it
    allows whatever the others do.
    """
    vocab, spelled, clock = matcher._constraint.vocab, bytearray(), clock_of(matcher)
    beginning = _Beginning.at(matcher._probe(), 0, 0)
    half_read = [beginning] if beginning else []
    while half_read and len(spelled) < limit:
        clock.tick()
        byte = half_read[0].next_byte(vocab.data, vocab.offsets, len(spelled))
        if byte is None or any(g.next_byte(vocab.data, vocab.offsets, len(spelled)) != byte for g in half_read[1:]):
            break
        spelled.append(byte)
        ended = [(g.steps, g, token) for g in half_read if (token := g.ending(vocab.offsets, len(spelled))) is not None]
        half_read = [g for g in half_read if len(g.ids)]
        if ended:
            steps, group, token = min(ended, key=lambda e: e[0])
            after = group.matcher._probe()
            after.advance(token)
            beginning = _Beginning.at(after, len(spelled), steps + 1)
            if beginning is None:
                break
            half_read.append(beginning)
    return bytes(spelled)


def clock_of(matcher: MatcherLike) -> Clock:
    """Of the whole call: each mask that it makes has one of its own."""
    clock = Clock(matcher._constraint.report.limits)
    clock.begin_call()
    return clock


@dataclass
class _Beginning:
    """The tokens that may begin at a place and agree with the bytes found since."""

    matcher: MatcherLike
    place: int
    steps: int  # tokens up to here
    ids: np.ndarray

    @classmethod
    def at(cls, matcher: MatcherLike, place: int, steps: int) -> _Beginning | None:
        """None where nothing is forced: where the text may end or continue with something that has no bytes. Nor where
        a token may be asked for by its id: what comes after it depends on the tokenization of its text."""
        ids = ids_of(matcher._row())
        program = matcher._automaton.program
        if matcher.is_accepting or not program.facts.is_text[ids].all():
            return None
        if program.named_texts and matcher._made(lambda epoch, state: epoch.special_tokens(state)):
            return None
        return cls(matcher, place, steps, ids)

    def next_byte(self, data: np.ndarray, offsets: np.ndarray, at: int) -> int | None:
        """The byte at this place of all the tokens, None where they differ."""
        found = data[offsets[self.ids] + (at - self.place)]
        return int(found[0]) if (found == found[0]).all() else None

    def ending(self, offsets: np.ndarray, at: int) -> int | None:
        """A token that ends here; all that do are removed."""
        ends = offsets[self.ids + 1] - offsets[self.ids] == at - self.place
        if not ends.any():
            return None
        token = int(self.ids[ends][0])
        self.ids = self.ids[~ends]
        return token
