"""What the given tokens of a row ask of its states: how far numbers are followed, and whether blanks and lengths are counted.

A lattice that follows everything has tens of thousands of states, and nearly no row needs them. So a row is looked at first:

    numbers   the longest that its runs of masked tokens and digits have room for
    lengths   the fewest characters of a string that masked tokens can be forced to have, against the schema's maxLengths
    blanks    the most in one gap with one token of many, against the cap

Each is a bound: where it says no, no completion breaks the rule, or those that do can be written in fewer characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN
from grammarlm.vocab.vocabulary import Vocabulary

from .sizes import number_edges, sizes_of
from .texts import texts_of

ESCAPE = 6  # tokens of one byte that spell one character: \u0061


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
    edges, most, here, is_masked = number_edges(vocab), 0, before, False
    for token in tokens:
        if token == MASKED:
            is_masked = True
        elif edges.is_whole[token]:
            here += edges.leading[token]
        else:
            ends = edges.leading[token] if edges.ends[token] else -here
            most = max(most, here + ends) if is_masked else most
            here, is_masked = edges.trailing[token], False
    return max(most, here) if is_masked else most


def blanks_may_break(tokens: Sequence[int], vocab: Vocabulary) -> bool:
    """Can a gap have more blanks than the cap, if one masked token has many and all others one?"""
    most = sizes_of(vocab).blanks.most
    return any(
        given + masked + (max(most - 1, 0) if masked else 0) > LONGEST_RUN for given, masked in _gaps(tokens, vocab)
    )


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


def _gaps(tokens: Sequence[int], vocab: Vocabulary) -> list[tuple[int, int]]:
    """(given blanks, masked tokens) of each run of masked tokens and white space."""
    edges, found, given, masked = sizes_of(vocab).blanks, list[tuple[int, int]](), 0, 0
    for token in tokens:
        if token == MASKED:
            masked += 1
        elif edges.is_whole[token]:
            given += edges.leading[token]
        else:
            found.append((given + edges.leading[token], masked))
            given, masked = edges.trailing[token], 0
    return [*found, (given, masked)]


def fewest_characters(tokens: Sequence[int], vocab: Vocabulary, before: int, is_plain: bool) -> int:
    """A bound of the characters that some string of the row must have, one masked token in it being the longest there is.

    Masked tokens within a string can spell escapes, six tokens a character. `is_plain`: they cannot. `before`: characters of a
    string that precede the row.
    """
    sizes = sizes_of(vocab)
    texts, holes = texts_of(vocab), tokens.count(MASKED)
    here, run, longest, last_given = before, 0, 0, b"\\"

    def with_run() -> int:
        return here + (run if is_plain else run // ESCAPE + min(run, ESCAPE - 1))

    for token in tokens:
        if token == MASKED:
            run, last_given = run + 1, b"\\"
            continue
        here, run = with_run(), 0
        text = texts[token]
        quote = _ending_quote(text, last_given)
        if quote < 0:
            here += sizes.characters[token]
        else:
            longest = max(longest, here + quote)
            here = len(text) - text.rindex(b'"') - 1
        last_given = text[-1:] or last_given
    longest = max(longest, with_run())
    return longest + (2 * sizes.beside_quotes + sizes.most_characters + ESCAPE if holes else 0)


def _ending_quote(text: bytes, before: bytes) -> int:
    """The index of a quote that is not escaped, whatever stands before the token; -1: none is known to be."""
    if 34 not in text:
        return -1
    for at in range(len(text)):
        if text[at] == 34 and (text[at - 1 : at] if at else before) != b"\\":
            return at
    return -1
