"""Small languages with all their rows, found by `re`."""

import itertools
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import grammarlm as gl


@dataclass(frozen=True)
class Language:
    """A regex over a few tokens: id 0 is the mask, the last one stops."""

    pattern: str
    tokens: tuple[bytes, ...]
    length: int

    @cached_property
    def vocab(self):
        return gl.Vocabulary([b"<mask>", *self.tokens, b"</s>"], stop_ids=[self.stop], special_ids=[0, self.stop])

    @property
    def stop(self):
        return len(self.tokens) + 1

    @property
    def width(self):
        return len(self.tokens) + 2

    @cached_property
    def grammar(self):
        return gl.Regex(self.pattern)

    @cached_property
    def rows(self):
        """Every row of the language, by trying all."""
        found = []
        for count in range(self.length + 1):
            for ids in itertools.product(range(1, self.stop), repeat=count):
                text = b"".join(self.tokens[i - 1] for i in ids).decode(errors="replace")
                found += [ids + (self.stop,) * (self.length - count)] * bool(re.fullmatch(self.pattern, text))
        return np.array(found)

    def text(self, row):
        return b"".join(self.tokens[i - 1] for i in itertools.takewhile(lambda i: i != self.stop, row)).decode()

    def infill(self, model, holes=None, **options):
        holes = [-1] * self.length if holes is None else [int(token) for token in holes]
        return gl.infill(model, holes, vocab=self.vocab, mask_id=0, grammar=self.grammar, **options)

    def holes(self, random, share=0.6):
        """A row of the language with masks."""
        row = self.rows[random.integers(len(self.rows))].copy()
        row[random.random(self.length) < share] = -1
        return row if (row < 0).any() else np.full(self.length, -1)


def agreeing(rows, holes):
    known = np.flatnonzero(np.asarray(holes) >= 0)
    return rows[(rows[:, known] == np.asarray(holes)[known]).all(1)]


LETTERS = (b"a", b"b", b"c")
LANGUAGES = {
    "words": Language("(ab|c)*a?", LETTERS, 5),
    "brackets": Language(r"\[(a(,a)*)?\]", (b"[", b"]", b"a", b",", b"[a", b",a"), 5),
    "pairs": Language("(aa|bb)(aa|bb)c?", LETTERS, 5),
    "characters": Language("(é|a){1,3}", (b"\xc3", b"\xa9", b"a", b"a\xc3"), 4),
}
