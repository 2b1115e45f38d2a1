"""Which tokens of a vocabulary can repeat an item, by their bytes alone: only these are read by the tracker when a mask is made.

    whole     holds an object or array from bracket to bracket:        [],   {"a":1},{"a":1
    pairs     holds a tracked array with two items:                    [[],[]
    closers   closes something:                                        "}    }]
    newline   ends with a line's end, after which natural white space may ask for a closing bracket

Each list has a part for texts that stand in a string: there a quote must come first.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np

from grammarlm.vocab.vocabulary import Vocabulary

SOME = re.compile(rb"[}\]\r\n]")
WHOLE = re.compile(rb"[{\[].*[}\]]", re.DOTALL)
PAIR = re.compile(rb"\[.*[{\[].*[}\]].*,.*[{\[].*[}\]]", re.DOTALL)
CLOSER = re.compile(rb"[}\]]")
NEWLINE = re.compile(rb"[\r\n][ \t\r\n]*\Z")


@dataclass(frozen=True)
class Suspects:
    """Ids of tokens."""

    whole: np.ndarray
    pairs: np.ndarray
    closers: np.ndarray
    newline: np.ndarray


@functools.lru_cache(maxsize=8)
def suspects_of(vocab: Vocabulary) -> tuple[Suspects, Suspects]:
    """Those of structure, and those in strings."""
    data, offsets, ids = vocab.data.tobytes(), vocab.offsets.tolist(), vocab.text_ids.tolist()
    texts = [(token, data[offsets[token] : offsets[token + 1]]) for token in ids]
    some = [(token, text) for token, text in texts if SOME.search(text)]
    quoted = [(token, text[text.index(b'"') + 1 :]) for token, text in some if b'"' in text]
    return _listed(some), _listed(quoted)


def _listed(texts: list[tuple[int, bytes]]) -> Suspects:
    return Suspects(
        *(
            np.array([token for token, text in texts if pattern.search(text)], np.int64)
            for pattern in (WHOLE, PAIR, CLOSER, NEWLINE)
        )
    )
