"""A verbatim quote: any contiguous piece of a document.

    Substring(contract)                     what Python's `piece in contract` says, the empty piece included
    Substring(contract, unit="word")        pieces that cut no word in two

    "The answer is \\"" + Substring(contract) + "\\", says the contract."

A document has megabytes: alone, and as a part of `+`, `|`, Repeat and Capture, it is read by a machine of its own
(masks/machines/substring), in about 25 bytes a byte. Below `&` and `-`, and beside a Lark grammar, it is a regular language like
others, whose states are made in Python as a text comes to them (PieceStates): exact as well, and meant for smaller documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from grammarlm.errors import brief, check_type
from grammarlm.grammars.regular.derivatives import Algebra, EdgeList
from grammarlm.grammars.regular.terms import Source, Term

from .compose import Grammar, encode

UNITS = ("char", "word")
BYTES_A_BYTE = 40  # of a document, while terms of its pieces are made: places, and the first states


@dataclass(frozen=True, repr=False)
class Substring(Grammar):
    """Any contiguous piece of a text, the empty one included.

    `unit`: "char", pieces begin and end between any two characters, so that a piece is in the language iff `piece in text`;
    "word", they begin and end at borders of words: anywhere but between two word characters, which are what \\w of Python's `re`
    matches. So "well-known facts" has the pieces "known" and "-known fac" is none.
    """

    text: str
    unit: Literal["char", "word"] = "char"

    def __post_init__(self) -> None:
        check_type(
            self.text, str, "Substring(text) takes the document as a string", "read a file with path.read_text()"
        )
        if self.unit not in UNITS:
            raise ValueError(f"Substring(unit={self.unit!r:.40}): it takes 'char' or 'word'")
        if not self.text:
            raise ValueError("Substring(''): an empty document has no pieces to quote; give it some text")

    def __repr__(self) -> str:
        unit = "" if self.unit == "char" else f", unit={self.unit!r}"
        return f"Substring({brief(self.text, 80)}{unit})"

    def language(self, algebra: Algebra) -> Term:
        algebra.weigh(BYTES_A_BYTE * len(self.text), "the pieces of a document, beside & and - or a Lark grammar")
        source = PieceStates(self)
        return algebra.lazy(source, source.start)


class Document:
    """A text's bytes, and where its pieces may begin and end."""

    def __init__(self, text: str, unit: str):
        self.data = np.frombuffer(encode(text), np.uint8)
        points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        widths = 1 + (points >= 0x80).astype(np.int8) + (points >= 0x800) + (points >= 0x10000)
        ends = np.cumsum(widths, dtype=np.int32)  # of the characters, in bytes
        self.characters: list[int] = sorted(map(ord, set(text)))
        self.in_words = frozenset(filter(_is_in_words, self.characters)) if unit == "word" else frozenset[int]()
        is_word = np.isin(points, np.fromiter(self.in_words, np.uint32, len(self.in_words)))
        begins_word = is_word & ~np.concatenate([[False], is_word[:-1]])
        self.begins_word = np.zeros(len(self.data), bool)  # the last byte of a character with which a word begins
        self.begins_word[ends[begins_word] - 1] = True
        self.is_border = np.zeros(len(self.data) + 1, bool)
        self.is_border[0] = self.is_border[-1] = True
        self.is_border[ends[:-1]] = ~(is_word[:-1] & is_word[1:])

    @cached_property
    def rest(self) -> np.ndarray:
        """int32 [bytes + 1]: from each place so many bytes to the next border."""
        places = np.arange(len(self.is_border), dtype=np.int32)
        after = np.where(self.is_border, places, np.int32(len(self.data)))
        nearest: np.ndarray = np.minimum.accumulate(after[::-1])[::-1] - places
        return nearest


def _is_in_words(point: int) -> bool:
    character = chr(point)
    return character.isalnum() or character == "_"


class PieceStates(Source):
    """The states of pieces as terms: a key is the places of the document at which a piece may stand, as int32 in bytes."""

    def __init__(self, grammar: Substring):
        self._grammar, self._document = grammar, Document(grammar.text, grammar.unit)
        self.start = np.flatnonzero(self._document.is_border).astype(np.int32).tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PieceStates) and other._grammar == self._grammar

    def __hash__(self) -> int:
        return hash(self._grammar)

    def accepts(self, key: bytes) -> bool:
        return bool(self._document.is_border[_places(key)].any())

    def edges(self, algebra: Algebra, key: bytes) -> EdgeList:
        data, places = self._document.data, _places(key)
        places = places[places < len(data)]
        order = np.argsort(data[places], kind="stable")
        byte, behind = data[places][order], places[order] + np.int32(1)
        firsts = np.flatnonzero(np.diff(byte.astype(np.int16), prepend=-1))
        groups = np.split(behind, firsts[1:])
        return tuple(
            (1 << value, algebra.lazy(self, group.tobytes()))
            for value, group in zip(byte[firsts].tolist(), groups, strict=False)
        )

    def byte_sets(self, key: bytes) -> Iterable[int]:
        return [1 << byte for byte in np.unique(self._document.data).tolist()]

    def distance(self, key: bytes) -> int:
        return int(self._document.rest[_places(key)].min())

    floor = distance

    def end(self, key: bytes) -> bytes:
        """Of the shortest ends the first in byte order."""
        left = self.distance(key)
        places = _places(key)
        near = places[self._document.rest[places] == left]
        return min({self._document.data[place : place + left].tobytes() for place in near.tolist()})

    def ceiling(self, key: bytes) -> int:
        return int(self._document.rest.max())


def _places(key: bytes) -> np.ndarray:
    return np.frombuffer(key, np.int32)
