"""What the given tokens of a row ask of its states: how far numbers are followed, and whether blanks and lengths are counted.

A lattice that follows everything has tens of thousands of states, and nearly no row needs them. So a row is looked at first:

    numbers   the longest that its runs of masked tokens and digits have room for
    lengths   the fewest characters of a string that masked tokens can be forced to have, against the schema's maxLengths
    blanks    the most in one gap with one token of many, against the cap

Each is a bound: where it says no, no completion breaks the rule, or those that do can be written in fewer characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.machines.json.vocabulary.blanks import LONGEST_RUN
from grammarlm.vocab.vocabulary import Vocabulary

NUMBER = rb"[-+.0-9eE]"
WHITE = rb"[ \t\r\n]"
LEADING_NUMBER, TRAILING_NUMBER = re.compile(b"^" + NUMBER + b"*"), re.compile(NUMBER + b"*\\Z")
LEADING_WHITE, TRAILING_WHITE = re.compile(b"^" + WHITE + b"*"), re.compile(WHITE + b"*\\Z")
NUMBERS, WHITES = re.compile(NUMBER + b"+"), re.compile(WHITE + b"+")
ENDING_NUMBER = re.compile(rb"(" + NUMBER + rb"*)[,\]} \t\r\n]")
BEGINNING_NUMBER = re.compile(rb"[:,\[ \t\r\n](" + NUMBER + rb"+)\Z")
CONTINUATIONS = bytes(range(0x80, 0xC0))
LONGEST_NUMBER = 1 << 20
Pattern = re.Pattern[bytes]
ESCAPE = 6  # tokens of one byte that spell one character: \u0061


@dataclass(frozen=True, eq=False)
class Edges:
    """By id: bytes or blanks at a token's two ends, all of it where it is nothing else. The most of any token."""

    leading: list[int]
    trailing: list[int]
    is_whole: list[bool]
    most: int


@dataclass(frozen=True, eq=False)
class Sizes:
    """What the tokens of a vocabulary can add to a number, a gap, a string."""

    numbers: Edges
    blanks: Edges
    characters: list[int]  # by id; of an escape, more than it is
    most_characters: int
    beside_quotes: int  # the most before a token's first quote or after its last; 0 where a token is a quote alone


@lru_cache(maxsize=4)
def sizes_of(vocab: Vocabulary) -> Sizes:
    spelled = [vocab.token_bytes(token) for token in range(vocab.size)]
    characters = [_characters(text) for text in spelled]
    quoted = [text for text in spelled if b'"' in text]
    beside = [max(_characters(text.partition(b'"')[0]), _characters(text.rpartition(b'"')[2])) for text in quoted]
    return Sizes(
        _edges(spelled, LEADING_NUMBER, TRAILING_NUMBER, NUMBERS, len, LONGEST_NUMBER),
        _edges(spelled, LEADING_WHITE, TRAILING_WHITE, WHITES, _blanks, LONGEST_RUN),
        characters,
        max(characters, default=0),
        0 if b'"' in quoted else max(beside, default=0),
    )


def _edges(
    spelled: list[bytes],
    leading: Pattern,
    trailing: Pattern,
    inside: Pattern,
    size: Callable[[bytes], int],
    longest: int,
) -> Edges:
    first, last, whole, most = [0] * len(spelled), [0] * len(spelled), [False] * len(spelled), 0
    for token, text in enumerate(spelled):
        if runs := inside.findall(text):
            first[token] = size(leading.findall(text)[0])
            last[token] = size(trailing.findall(text)[0])
            whole[token] = len(runs[0]) == len(text)
            most = max(most, *(size(run) if size(run) <= longest else 0 for run in runs))
    return Edges(first, last, whole, most)


def _blanks(text: bytes) -> int:
    return text.count(b" ") + text.count(b"\t")


def _characters(text: bytes) -> int:
    return len(text.translate(None, CONTINUATIONS))


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


class NumberEdges(NamedTuple):
    """By id."""

    leading: list[int]  # bytes of a number that ends in the token
    ends: list[bool]  # can one that has begun before?
    trailing: list[int]  # of one that begins there
    is_whole: list[bool]


@lru_cache(maxsize=4)
def number_edges(vocab: Vocabulary) -> NumberEdges:
    found = NumberEdges([], [], [], sizes_of(vocab).numbers.is_whole)
    for token, is_whole in enumerate(found.is_whole):
        text = vocab.token_bytes(token)
        lead, trail = ENDING_NUMBER.match(text), BEGINNING_NUMBER.search(text)
        found.leading.append(len(text) if is_whole else len(lead[1]) if lead else 0)
        found.ends.append(lead is not None)
        found.trailing.append(len(trail[1]) if trail else 0)
    return found


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
    holes = sum(token == MASKED for token in tokens)
    here, run, longest, last_given = before, 0, 0, b"\\"

    def with_run() -> int:
        return here + (run if is_plain else run // ESCAPE + min(run, ESCAPE - 1))

    for token in tokens:
        if token == MASKED:
            run, last_given = run + 1, b"\\"
            continue
        here, run = with_run(), 0
        text = vocab.token_bytes(token)
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
    for at in range(len(text)):
        if text[at] == 34 and (text[at - 1 : at] if at else before) != b"\\":
            return at
    return -1
