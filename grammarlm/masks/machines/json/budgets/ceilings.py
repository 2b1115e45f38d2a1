"""How far a budget lasts: bounds by the schema alone, which need no completion to be made, or only that of the text now.

What ends a text is the rest of its innermost lexeme, perhaps a key and its value, and for each frame around it what that still
needs. Each of these has a bound by the schema, so the frames of a state say how many tokens are enough; and `n` more tokens
open at most so many frames, of which those of nodes that contain themselves can repeat and the others come once on any path:

    tokens to the end after n more  <=  frames now + frames on a path within + key and lexeme + n * openings * repeating frame

Bounds are sums over pieces of text of the most tokens that any suffix of the piece takes: greedy tokens of a concatenation begin in
some piece, and within it they are those of a suffix. Where a frame's rest is not the sum of its parts (items that must differ,
counted `contains`, keys that imply others or are only needed to reach a number), nothing is known at sight.

`growth` is known there, too: how much one token can lengthen the shortest completion. It opens frames along a path, each of which
then needs its shortest text, and may begin a key and a lexeme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from grammarlm.grammars.cfg.components import components
from grammarlm.layout.json import ARRAY_BIT, Array, Frame, Object, Shape
from grammarlm.masks.filters import greedy
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.machines.json.machine import Machine
from grammarlm.vocab.vocabulary import Vocabulary

from .nodes import Shapes

SPARE = 8  # tokens: half a character, half an escape, a quote, ...
OPENING = re.compile(rb"\[|\{(?![{\[\w])")
PIECE = 16  # bytes of a piece: all its suffixes are tokenized
PIECES = 512  # tokenized together


class Ceilings:
    """The bounds of one program."""

    def __init__(self, endings: Endings):
        self._program, self._endings, self._rows = endings.reader.program, endings, endings.reader.rows
        self._frames: dict[int, tuple[int, int]] = {}  # by row: what a frame needs, and what frames within it may
        self._start = INFINITE  # what the frames of a whole text may need
        self._inside = INFINITE  # what a lexeme, a key and white space need
        self._repeats = 0  # what a token adds by frames that repeat
        self.growth = INFINITE
        shapes = Shapes(endings)
        self.must_differ = shapes.must_differ()  # have classes of threads any that may end in different ways?
        blanks = self._program.tables.blanks
        if blanks.has_gaps or blanks.table[blanks.start, 4]:  # completions have what must come in a gap
            self._find(shapes, int(blanks.distances.max()))

    def steps(self, machine: Machine, state: int, left: int) -> int:
        """After so many tokens, whatever they are, the rest of `left` is still enough; 0 where that is not known."""
        free = left - self._inside
        if free <= 0:
            return 0
        records, frames, known = machine.arrays["records"], machine.arrays["frames"], self._frames
        most = 0
        while state:
            _, _, _, f, state = records[state].tolist()
            needed = 0 if f else self._start
            while f:  # from the innermost frame; a text may leave it and go on in another place of those around it
                words = frames[f]
                own, within = known[int(words[Frame.ROW])]
                needed = own + max(needed, within)
                f = int(words[Frame.PARENT])
            most = max(most, needed)
        return max((free - most) // (self._repeats + 1), 0)

    def _find(self, shapes: Shapes, blank: int) -> None:
        comma = len(self._program.tables.blanks.comma)
        must = {shape: self._must(*shape) for shape in shapes.frames}
        names = {name for row in shapes.objects for name in shapes.names(row)}
        entries = {entry for found in must.values() for entry in found if entry is not None}
        known, openings = most_tokens(self._program.vocab, names | entries), most_openings(self._program.vocab)
        key = max([*map(shapes.other_key, shapes.objects), *(2 + known[name] for name in names)], default=0)
        inside = key + blank + SPARE
        own = {
            shape: INFINITE if None in found else 2 + sum(comma + known[entry] for entry in found if entry is not None)
            for shape, found in must.items()
        }
        groups = components(shapes.graph, self._program.clock.tick)
        paths, repeating = _paths(shapes.graph, groups, own)
        for (kind, row), needed in own.items():
            within = max((paths[node] for node in shapes.graph[kind, row]), default=0)
            self._frames[row | ARRAY_BIT if kind == Shape.ARRAY else row] = needed, within
        self._start = paths[shapes.start]
        self._inside = min(max(shapes.lexemes.values(), default=0) + inside, INFINITE)
        self._repeats = min(repeating * openings, INFINITE)
        opened = {shape: shapes.opened(*shape) for shape in shapes.frames}
        paths, repeating = _paths(shapes.graph, groups, {**shapes.lexemes, **opened})
        self.growth = min(max(paths.values()) + repeating * openings + inside, INFINITE)

    def _must(self, kind: int, row: int) -> list[bytes | None]:
        """The entries or items that must come in an object or array; None among them where what must come is not known."""
        rows, frames = self._rows, self._endings.frames
        if kind == Shape.ARRAY:
            is_known = not rows[row + Array.UNIQUE] and not rows[row + Array.CONTAINS]
            must = [frames.of_shape(kind, row)] if rows[row + Array.LEAST] else []
        else:
            must = [frames.entry(row, i) for i in frames.needed(frames.opened(kind, row))]
            is_known = rows[row + Object.LEAST] <= len(must)
            is_known &= not rows[row + Object.IMPLIED] and not rows[row + Object.OBLIGATIONS]
        return must if is_known else [None]


def _paths(graph: dict[Any, list[Any]], groups: list[list[Any]], own: dict[Any, int]) -> tuple[dict[Any, int], int]:
    """The most that shapes on a path from each node or shape need, each counted once; and the most that one needs that can repeat.
    `groups`: of nodes and shapes that lead to each other, each before those that lead to it."""
    paths, repeating = dict[Any, int](), 0
    for group in groups:
        weight = max(own.get(each, 0) for each in group)
        if len(group) > 1:
            repeating = max(repeating, weight)
        longest = max((paths[below] for each in group for below in graph[each] if below in paths), default=0)
        paths.update(dict.fromkeys(group, min(weight + longest, INFINITE)))
    return paths, repeating


def most_tokens(vocab: Vocabulary, texts: Iterable[bytes]) -> dict[bytes, int]:
    """Of each text the most tokens that greedy tokenization of a suffix of each of its pieces takes, summed over the pieces."""
    found = {text: len(text) for text in texts}
    apart = separator(vocab)
    if apart is None:
        return found
    byte, token = apart
    pieces = [
        (text, text[begin : begin + PIECE])
        for text in found
        if byte not in text
        for begin in range(0, len(text), PIECE)
    ]
    found |= {text: 0 for text, _ in pieces}
    for begin in range(0, len(pieces), PIECES):
        some = pieces[begin : begin + PIECES]
        joined = b"".join(piece[start:] + byte for _, piece in some for start in range(len(piece)))
        tokens = greedy.cut(vocab, joined)
        assert tokens is not None  # each byte is a token
        counts = np.diff(np.flatnonzero(np.array(tokens) == token), prepend=-1) - 1
        at = 0
        for text, piece in some:
            found[text] += int(counts[at : at + len(piece)].max())
            at += len(piece)
    return found


@lru_cache(maxsize=8)
def separator(vocab: Vocabulary) -> tuple[bytes, int] | None:
    """A byte that is a token and occurs in no other, with its id."""
    lengths = np.diff(vocab.offsets)
    longer = np.repeat(lengths > 1, lengths)
    counts = np.bincount(vocab.data[: len(longer)][longer], minlength=256)
    for byte in np.flatnonzero(counts == 0)[::-1].tolist():
        tokens = greedy.cut(vocab, bytes([byte]))
        if tokens is not None and len(tokens) == 1:
            return bytes([byte]), tokens[0]
    return None


@lru_cache(maxsize=8)
def most_openings(vocab: Vocabulary) -> int:
    """The largest number of nested values that one token can open."""
    data, offsets = vocab.data.tobytes(), vocab.offsets
    texts = (data[offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1))
    return 1 + max((len(OPENING.findall(text)) for text in texts if b"[" in text or b"{" in text), default=0)
