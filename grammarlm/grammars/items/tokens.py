"""A set of items, each a sequence of token ids: the candidates of a generative retriever.

    Tokens([[17, 4, 99], [17, 5]])        Tokens(matrix)        Tokens(Path("items.npy"))        Tokens(iterator_of_chunks)

An item is exactly this sequence of tokens. (`Choices` allows every tokenisation of a string; `Tokens(["red lamp"])` takes strings
too, and means the tokens that the tokenizer makes of each.) Items may have different lengths, one may be a prefix of another, and
there may be duplicates: then the first row is the one returned.

Items are stored as a matrix with one row per item, in the narrowest integer type that fits. Shorter rows are padded with -1 after
their last token; a given matrix may be padded with -1, too. A memory-mapped matrix is not copied: its file must not change. The
sorted index built from the rows is in masks/machines/items/index.py.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from grammarlm.errors import UnsupportedFeature, brief
from grammarlm.files import map_array, shown
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term

LARGEST_TOKEN = 2**24 - 2  # an index has 24 bits per token, and one reserved value
CHUNK = 1 << 16  # rows read at once from a matrix that may be larger than memory
SAVED_KINDS = "iufUSMm"  # numpy's codes for numbers, strings, times
WIDE = 1 << 28  # cells: in a padded matrix larger than this at least 1 of 16 must be a token


@dataclass(frozen=True)
class Facts:
    """The results of one pass over the rows."""

    longest: int
    is_ragged: bool
    largest_token: int  # -1 if there is none


class Tokens(Grammar):
    """One of many sequences of token ids. `ids`: a name for each row, for example a product's number; any 1-D array."""

    def __init__(self, items: Any, ids: Any = None):
        self.strings: tuple[str, ...] | None = None
        self.built: Any = None  # the index that retrieval/item_set.py builds, cached for the next search
        self._rows: np.ndarray | None = None
        if _are_strings(items):
            self.strings = tuple(items)
        else:
            self._rows = _matrix(items)
            if not isinstance(self._rows, np.memmap):
                _ = self.facts  # raises where a row is no item; a mapped file is checked when its index is built
        self.ids = None if ids is None else _named(ids, len(self))

    @property
    def rows(self) -> np.ndarray:
        """[N, L] token ids, padded with -1 after the last token of a shorter item; never written to."""
        if self._rows is None:
            raise ValueError(
                "these items are strings; their tokens depend on a vocabulary: pass vocab=, or tokens.spelled(vocab.encode)"
            )
        return self._rows

    @cached_property
    def facts(self) -> Facts:
        return _facts(self.rows)

    def spelled(self, encode: Callable[[str], Sequence[int]]) -> Tokens:
        """The items as tokens, encoded where they are strings."""
        return self if self.strings is None else Tokens([encode(text) for text in self.strings], self.ids)

    def chunks(self) -> Iterator[np.ndarray]:
        for start in range(0, len(self.rows), CHUNK):
            yield np.asarray(self.rows[start : start + CHUNK])

    def __len__(self) -> int:
        return len(self._rows) if self._rows is not None else len(self.strings or ())

    @cached_property
    def digest(self) -> bytes:
        """Content hash: equal for equal items in equal order, however they were given."""
        content = hashlib.blake2b(digest_size=16)
        if self.strings is not None:
            content.update(b"strings")
            for text in self.strings:
                encoded = text.encode("utf-8", "surrogatepass")
                content.update(len(encoded).to_bytes(8, "little") + encoded)
        else:
            for chunk in self.chunks():
                kept = chunk >= 0
                content.update(kept.sum(axis=1, dtype="<i4").tobytes() + chunk[kept].astype("<i4").tobytes())
        if self.ids is not None:
            content.update(b"ids" + str(self.ids.dtype).encode() + self.ids.tobytes())
        return content.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokens) and len(self) == len(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    SAVED: ClassVar[dict[str, Any]] = {
        "strings": tuple[str, ...] | None, "kind": str, "length": int, "rows": bytes, "ids_kind": str, "ids": bytes,
    }  # fmt: skip

    def saved(self) -> list[Any]:
        """The values of SAVED: the rows as bytes, and their type and length."""
        rows = np.zeros((0, 0), np.int32) if self._rows is None else self._rows
        ids = np.zeros(0, np.int8) if self.ids is None else self.ids
        if ids.dtype.kind not in SAVED_KINDS:
            raise UnsupportedFeature(f"ids of the type {ids.dtype} cannot be saved; use numbers or strings")
        ids_kind = "" if self.ids is None else ids.dtype.str
        return [self.strings, rows.dtype.str, rows.shape[1], rows.tobytes(), ids_kind, ids.tobytes()]

    @classmethod
    def from_saved(
        cls, strings: tuple[str, ...] | None, kind: str, length: int, rows: bytes, ids_kind: str, ids: bytes
    ) -> Tokens:
        names = None if not ids_kind else np.frombuffer(ids, _saved_kind(ids_kind))
        if strings is not None:
            return cls(strings, names)
        cells = np.frombuffer(rows, _saved_kind(kind))
        return cls(cells.reshape(-1, length) if length else cells.reshape(0, 0), names)

    def __repr__(self) -> str:
        kind = "strings" if self.strings is not None else "items"
        return f"Tokens({len(self):,} {kind})"

    def language(self, algebra: Algebra) -> Term:
        raise UnsupportedFeature(f"{self!r} is no set of byte strings; it can be a part of + and | only")


def _saved_kind(name: str) -> np.dtype[Any]:
    kind = np.dtype(name)
    if kind.kind not in SAVED_KINDS:
        raise ValueError(f"{name!r:.40} is no type of numbers or strings")
    return kind


def _are_strings(items: Any) -> bool:
    if not isinstance(items, (list, tuple)) or not items or not isinstance(items[0], str):
        return False
    for number, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(f"item {number} is {type(item).__name__}, the items before it are strings; give one kind")
    return True


def _matrix(items: Any) -> np.ndarray:
    """The rows of any accepted input."""
    if isinstance(items, os.PathLike):
        return _integers(map_array(items), f"the array in {shown(items)}")
    if isinstance(items, str):
        raise TypeError(
            f"items is the text {brief(items)}, and text is never taken for a path: pass pathlib.Path(...) for a .npy file, "
            "a list for items that are strings"
        )
    if isinstance(items, (bytes, bytearray, dict, set, frozenset)):
        raise TypeError(
            f"Tokens() takes a matrix, a list of sequences, the path of a .npy file or chunks, not {type(items).__name__}"
        )
    if isinstance(items, np.memmap):
        return _integers(items, "the mapped array")
    if hasattr(items, "__array__"):
        return _compact(_integers(np.asarray(items), "the matrix"))
    if isinstance(items, Sequence):
        return _rows_of(items)
    if isinstance(items, Iterator):
        return _joined([_compact(_integers(c, "a chunk")) if _is_array(c) else _rows_of(c) for c in items])
    raise TypeError(
        "Tokens() takes a matrix, a list of sequences, the path of a .npy file or an iterator of chunks, not "
        f"{type(items).__name__}"
    )


def _is_array(chunk: Any) -> bool:
    return hasattr(chunk, "__array__")


def _integers(array: np.ndarray, what: str) -> np.ndarray:
    array = np.asarray(array) if not isinstance(array, np.ndarray) else array
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} holds {array.dtype}; items are token ids, integers")
    if array.ndim != 2:
        raise ValueError(f"{what} has shape {list(array.shape)}; it takes one row for each item: [items, length]")
    return array


def _compact(matrix: np.ndarray) -> np.ndarray:
    """A read-only copy in the narrowest type that fits."""
    low, high = (int(matrix.min()), int(matrix.max())) if matrix.size else (0, 0)
    _check_range(low, high)
    copy: np.ndarray = matrix.astype(_narrowest(low, high), order="C", copy=True)
    copy.flags.writeable = False
    return copy


def _narrowest(low: int, high: int) -> type:
    if low >= 0:
        return np.uint16 if high < 2**16 else np.int32
    return np.int16 if high < 2**15 else np.int32


def _check_range(low: int, high: int) -> None:
    if low < -1 or high > LARGEST_TOKEN:
        wrong = low if low < -1 else high
        raise ValueError(f"{wrong} is no token id; they go from 0 to {LARGEST_TOKEN:,} (and -1 fills up a shorter row)")


def _rows_of(items: Any) -> np.ndarray:
    """A matrix from a list of sequences."""
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
        raise TypeError(f"a chunk of items is a matrix or a list of sequences, not {type(items).__name__}")
    try:
        lengths = np.fromiter(map(len, items), np.int64, len(items))
    except TypeError:
        number = next(i for i, item in enumerate(items) if not hasattr(item, "__len__"))
        raise TypeError(
            f"item {number} is {items[number]!r:.60}, not a sequence of token ids; one item alone is Tokens([[...]])"
        ) from None
    _check_tokens(items)
    try:
        flat = np.fromiter(chain.from_iterable(items), np.int64, int(lengths.sum()))
    except OverflowError:
        wrong = next(token for token in chain.from_iterable(items) if abs(token) >= 1 << 63)
        _check_range(min(0, int(wrong)), int(wrong))
    if len(flat) and flat.min() < 0:
        raise ValueError(f"{flat.min()} is no token id; in a list of sequences a shorter item is a shorter sequence")
    _check_range(0, int(flat.max(initial=0)))
    return _filled_up(flat, lengths)


def _check_tokens(items: Any) -> None:
    kinds = set(map(type, chain.from_iterable(items)))
    wrong = {kind for kind in kinds if not issubclass(kind, (int, np.integer)) or issubclass(kind, bool)}
    if wrong:
        number = next(i for i, item in enumerate(items) if any(type(token) in wrong for token in item))
        raise TypeError(f"item {number} is {items[number]!r:.60}; items are sequences of token ids, integers")


def _filled_up(flat: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    longest, high = int(lengths.max(initial=0)), int(flat.max(initial=0))
    cells = len(lengths) * longest
    if cells > WIDE and cells > 16 * len(flat):
        raise ValueError(
            f"the longest of {len(lengths):,} items has {longest:,} tokens, the average {len(flat) / len(lengths):.0f}: "
            f"a matrix of {cells:,} cells; give the few long items to a set of their own"
        )
    is_full = cells == len(flat)
    matrix: np.ndarray = np.full((len(lengths), longest), 0 if is_full else -1, _narrowest(0 if is_full else -1, high))
    matrix[np.arange(longest) < lengths[:, None]] = flat
    matrix.flags.writeable = False
    return matrix


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """The chunks stacked; shorter ones are padded."""
    longest = max((part.shape[1] for part in parts), default=0)
    ragged = any(part.dtype.kind == "i" or part.shape[1] < longest for part in parts)
    high = max((int(part.max(initial=0)) for part in parts), default=0)
    joined = np.full((sum(map(len, parts)), longest), -1 if ragged else 0, _narrowest(-1 if ragged else 0, high))
    start = 0
    for part in parts:
        joined[start : start + len(part), : part.shape[1]] = part
        start += len(part)
    joined.flags.writeable = False
    return joined


def _facts(rows: np.ndarray) -> Facts:
    longest, largest, is_ragged = 0, -1, False
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        low, high = (int(chunk.min()), int(chunk.max())) if chunk.size else (0, -1)
        _check_range(low, max(high, 0))
        largest = max(largest, high)
        if low >= 0:
            longest = max(longest, chunk.shape[1])
            continue
        is_gap = chunk < 0
        holes = (is_gap[:, :-1] & ~is_gap[:, 1:]).any(axis=1)
        if holes.any():
            row = int(holes.argmax())
            raise ValueError(f"item {start + row} has a token after -1: {chunk[row].tolist()!r:.80}")
        longest = max(longest, int((~is_gap).sum(axis=1).max()))
        is_ragged = True
    return Facts(longest, is_ragged or longest < rows.shape[1], largest)


def _named(ids: Any, count: int) -> np.ndarray:
    names = np.array(ids)
    if names.dtype.kind not in "iufUSMmV" or names.ndim != 1:
        raise TypeError(
            f"ids is an array of {names.dtype} with shape {list(names.shape)}; it takes one number, string or record "
            "for each item"
        )
    if len(names) != count:
        raise ValueError(f"there are {len(names):,} ids for {count:,} items; give one for each")
    names.flags.writeable = False
    return names
