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

import numpy as np

from grammarlm.grammars.cfg.components import components
from grammarlm.layout.json import ARRAY_BIT, Array, Frame, Gap, Object, Shape
from grammarlm.masks.filters import greedy
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.machines.json.machine import Machine
from grammarlm.masks.machines.json.vocabulary.blanks import Blanks
from grammarlm.vocab.vocabulary import Vocabulary

from .nodes import Nodes

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
        nodes = Nodes(endings)
        self.must_differ = nodes.must_differ()  # have classes of threads any that may end in different ways?
        blank = most_blanks(endings.reader.program.tables.blanks)
        if blank is not None:
            self._find(nodes, blank)

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

    def _find(self, nodes: Nodes, blank: int) -> None:
        below: dict[int, set[int]] = {node: set() for node in nodes.found}
        frames: dict[int, set[int]] = {node: set() for node in nodes.found}  # of each node: the rows of its frames
        within: dict[int, list[int]] = {}  # of each row: the nodes of its values
        texts: dict[int, list[bytes | None]] = {}
        shortest: dict[int, int] = {}  # by row: what ends a frame that has just been opened
        lexemes = dict.fromkeys(nodes.found, 0)
        names, key = set[bytes](), 0
        for node, ways in nodes.found.items():
            self._program.clock.check()
            for kind, row, children in ways:
                if kind not in (Shape.OBJECT, Shape.ARRAY):
                    lexemes[node] = max(lexemes[node], nodes.lexeme(kind, row))
                    continue
                number = row if kind == Shape.OBJECT else row | ARRAY_BIT
                if number not in texts:
                    texts[number] = self._object(row) if kind == Shape.OBJECT else self._array(row)
                    within[number], shortest[number] = children, nodes.frame(kind, row)
                    if kind == Shape.OBJECT:
                        names.update(nodes.names(row))
                        key = max(key, nodes.other_key(row))
                frames[node].add(number)
                below[node].update(children)
        entries = {text for found in texts.values() for text in found if text is not None}
        known = most_tokens(self._program.vocab, entries | names)
        key = max(key, 2 + max((known[name] for name in names), default=0))
        own = {
            row: INFINITE if None in found else 2 + sum(1 + known[text] for text in found if text is not None)
            for row, found in texts.items()
        }
        openings = most_openings(self._program.vocab)
        paths, repeating = self._paths(below, _dearest(frames, own))
        self._frames = {row: (own[row], max((paths[node] for node in within[row]), default=0)) for row in own}
        self._start = paths[nodes.start]
        self._inside = min(max(lexemes.values()) + key + blank + SPARE, INFINITE)
        self._repeats = min(repeating * openings, INFINITE)
        opened = _dearest(frames, shortest)
        _, repeating = self._paths(below, opened)
        paths, _ = self._paths(below, {node: max(opened[node], lexemes[node]) for node in opened})
        self.growth = min(max(paths.values()) + repeating * openings + key + blank + SPARE, INFINITE)

    def _object(self, row: int) -> list[bytes | None]:
        """The entries that must come; None among them where what must come is not known."""
        rows = self._rows
        needed = self._endings.frames.needed(self._endings.frames.opened(Shape.OBJECT, row))
        if rows[row + Object.IMPLIED] or rows[row + Object.OBLIGATIONS] or rows[row + Object.LEAST] > len(needed):
            return [None]
        return [self._endings.frames.entry(row, i) for i in needed]

    def _array(self, row: int) -> list[bytes | None]:
        rows = self._rows
        if rows[row + Array.UNIQUE] or rows[row + Array.CONTAINS]:
            return [None]
        return [self._endings.frames.of_shape(Shape.ARRAY, row)] if rows[row + Array.LEAST] else []

    def _paths(self, below: dict[int, set[int]], own: dict[int, int]) -> tuple[dict[int, int], int]:
        """The most that nodes on a path from each node need, each counted once; and the most that one needs that can repeat."""
        paths, repeating = dict[int, int](), 0
        for group in components(below, self._program.clock.check):
            weight = max(own[node] for node in group)
            if len(group) > 1 or group[0] in below[group[0]]:
                repeating = max(repeating, weight)
            longest = max((paths[child] for node in group for child in below[node] if child in paths), default=0)
            paths.update(dict.fromkeys(group, min(weight + longest, INFINITE)))
        return paths, repeating


def _dearest(frames: dict[int, set[int]], own: dict[int, int]) -> dict[int, int]:
    """What the dearest of each node's frames needs."""
    return {node: max((own[row] for row in rows), default=0) for node, rows in frames.items()}


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
def most_blanks(blanks: Blanks) -> int | None:
    """The most white space that must come where some has begun; None where a gap may not be empty, as completions have it."""
    table = blanks.table
    gaps = [blanks.start, *(range(Gap.BEFORE_CLOSE, Gap.AFTER_COLON + 1) if blanks.is_natural else ())]
    if not table[gaps, 4].all():
        return None
    distances = np.where(table[:, 4] != 0, 0, len(table))
    for _ in range(len(table)):
        nearest = np.where(table[:, :4] >= 0, distances[table[:, :4]], len(table)).min(axis=1) + 1
        nearer = np.minimum(distances, nearest)
        if (nearer == distances).all():
            break
        distances = nearer
    return int(distances.max())


@lru_cache(maxsize=8)
def most_openings(vocab: Vocabulary) -> int:
    """The largest number of nested values that one token can open."""
    data, offsets = vocab.data.tobytes(), vocab.offsets
    texts = (data[offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1))
    return 1 + max((len(OPENING.findall(text)) for text in texts if b"[" in text or b"{" in text), default=0)
