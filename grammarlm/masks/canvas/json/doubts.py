"""What the given tokens of a row ask of its states: how far numbers are followed, and whether blanks and lengths are counted.

A lattice that follows everything has tens of thousands of states, and nearly no row needs them. So a row is looked at first:

    numbers   the longest that its runs of masked tokens and digits have room for
    lengths   the fewest characters of a string that masked tokens can be forced to have, against the maxLengths (lengths.py)
    blanks    the most in one gap with one token of many, against the cap

Each is a bound: where it says no, no completion breaks the rule, or those that do can be written in fewer characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN
from grammarlm.vocab.vocabulary import Vocabulary

from .sizes import number_edges, sizes_of


@dataclass(frozen=True)
class Room:
    """The most bytes that a number can have in a row."""

    given: int  # where nothing of it is masked
    masked: int  # where some of it is, or all

    @property
    def most(self) -> int:
        return max(self.given, self.masked)


def number_room(tokens: Sequence[int], vocab: Vocabulary, before: int, room: int) -> Room:
    """`before`: bytes of a number that precede the row; `room`: tokens that may follow it."""
    edges, found = sizes_of(vocab).numbers, {False: 0, True: 0}
    here, is_masked = before, False
    for token in tokens:
        if token == MASKED:
            here, is_masked = here + edges.most, True
        elif edges.is_whole[token]:
            here += edges.leading[token]
        else:
            found[is_masked] = max(found[is_masked], here + edges.leading[token])
            here, is_masked = edges.trailing[token], False
    if here and room:
        here, is_masked = here + room * edges.most, True
    found[is_masked] = max(found[is_masked], here)
    return Room(given=found[False], masked=found[True])


def digits_beside(tokens: Sequence[int], vocab: Vocabulary, before: int) -> int:
    """The most given digits of a number some of whose tokens are masked, where it can be one. `before`: as of number_room."""
    edges, most, here, is_masked, is_open = number_edges(vocab), 0, before, False, True
    for token in tokens:
        if token == MASKED:
            is_masked = is_open = True
        elif edges.is_whole[token]:
            here += edges.leading[token] if is_open else 0
        else:
            ends = edges.leading[token] if edges.ends[token] else -here
            most = max(most, here + ends) if is_masked else most
            here, is_masked, is_open = edges.trailing[token], False, edges.is_before[token]
    return max(most, here) if is_masked else most


def blanks_may_break(tokens: Sequence[int], vocab: Vocabulary) -> bool:
    """Can a gap have more blanks than the cap, if one masked token has many and all others one?"""
    most = sizes_of(vocab).blanks.most
    return any(
        gap.given + gap.masked + (max(most - 1, 0) if gap.masked else 0) > LONGEST_RUN for gap in _gaps(tokens, vocab)
    )


def tight_gaps(tokens: Sequence[int], vocab: Vocabulary, begun: int) -> list[Gap]:
    """Those that have more blanks than the cap where each masked token is one. `begun`: blanks that precede the row."""
    return [gap for gap in _gaps(tokens, vocab, begun) if gap.masked and gap.given + gap.masked > LONGEST_RUN]


def blanks_break(tokens: Sequence[int], vocab: Vocabulary) -> bool:
    """Have given tokens side by side more blanks than the cap?"""
    edges, here = sizes_of(vocab).blanks, 0
    for token in tokens:
        lead = 0 if token == MASKED else edges.leading[token]
        if here + lead > LONGEST_RUN:
            return True
        if token == MASKED or not edges.is_whole[token]:
            here = 0 if token == MASKED else edges.trailing[token]
        else:
            here += lead
    return False


class Gap(NamedTuple):
    """A run of masked tokens and white space, from `first` to before `end`, and the blanks at the edges of what is beside it."""

    first: int
    end: int
    given: int  # blanks
    masked: int  # tokens


def _gaps(tokens: Sequence[int], vocab: Vocabulary, begun: int = 0) -> Iterator[Gap]:
    edges, given, masked, first = sizes_of(vocab).blanks, begun, 0, 0
    for i, token in enumerate(tokens):
        if token == MASKED:
            masked += 1
        elif edges.is_whole[token]:
            given += edges.leading[token]
        else:
            yield Gap(first, i, given + edges.leading[token], masked)
            given, masked, first = edges.trailing[token], 0, i + 1
    yield Gap(first, len(tokens), given, masked)
