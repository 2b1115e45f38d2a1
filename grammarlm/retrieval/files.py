"""An item set as a folder of arrays that are memory-mapped, not read: a set of any size loads without a copy, and
processes share its memory.

    items.save("catalogue")
    items = ItemSet.load("catalogue")

`set.json` lists the content; each array is a .npy file. A folder is written under a temporary name and renamed when it
is complete. Loading checks every array once: a value out of range, rows out of order, or a file that is not the one
that was written (two of them swapped, or another set's) is a GrammarError that names the file. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from grammarlm.errors import GrammarError
from grammarlm.files import map_array, read_file
from grammarlm.grammars.items.tokens import CHUNK, LARGEST_TOKEN
from grammarlm.layout.items import ALL_ROWS
from grammarlm.masks.machines.items.index import HIGH, LOW_BITS, ItemIndex

from .bits import with_summary
from .segment import ItemSegment

VERSION = 1
KINDS = "biufUSMm"  # dtype kinds of labels and ids: no objects


class Stored(Protocol):
    """What a set keeps in files."""

    segments: tuple[ItemSegment, ...]
    count: int
    labels: dict[str, np.ndarray]
    ids: np.ndarray | None


def save(items: Stored, folder: str | os.PathLike[str]) -> None:
    """FileExistsError where there is such a folder already."""
    target = Path(folder)
    if target.exists():
        raise FileExistsError(f"{target} is there already; save to a new folder, and remove the old one yourself")
    segments, count, labels, ids = items.segments, items.count, items.labels, items.ids
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=target.name))
    try:
        facts: dict[str, Any] = {"version": VERSION, "count": count, "groups": list(labels), "has_ids": ids is not None}
        facts["segments"] = [_save_segment(segment, temporary, number) for number, segment in enumerate(segments)]
        for number, values in enumerate(labels.values()):
            np.save(temporary / f"group{number}.npy", values, allow_pickle=False)
        if ids is not None:
            np.save(temporary / "ids.npy", ids, allow_pickle=False)
        facts["sums"] = {path.name: _sum_of(path) for path in sorted(temporary.glob("*.npy"))}
        (temporary / "set.json").write_text(json.dumps(facts, indent=1) + "\n")
        os.replace(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _save_segment(segment: ItemSegment, folder: Path, number: int) -> dict[str, Any]:
    index = segment.index
    arrays = {"low": index.low, "high": index.high, "starts": index.starts}
    arrays |= {} if index.order is None else {"order": index.order}
    arrays |= {"alive": segment.alive.words} if len(segment.alive.words) else {}
    for name, array in arrays.items():
        np.save(folder / f"segment{number}.{name}.npy", array, allow_pickle=False)
    sizes = {"high_bits": index.high_bits, "shift": index.shift, "largest": index.largest, "first": index.first}
    return {**sizes, "arrays": list(arrays)}


def load(items: Stored, folder: str | os.PathLike[str]) -> None:
    """Fills a new set; GrammarError where a file is not what it must be."""
    reader = _Folder(Path(folder))
    facts = reader.facts()
    items.count = reader.size(facts, "count", 0, 2**31 - 1)
    known = facts.get("segments")
    if not isinstance(known, list) or not known:
        raise reader.error("set.json", "it lists no segments")
    items.segments = tuple(_load_segment(reader, number, segment, items.count) for number, segment in enumerate(known))
    names = facts.get("groups")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise reader.error("set.json", "its groups are no list of names")
    items.labels = {name: reader.array(f"group{i}.npy", KINDS, (items.count,)) for i, name in enumerate(names)}
    items.ids = reader.array("ids.npy", KINDS + "V", (items.count,)) if facts.get("has_ids") else None
    reader.check_sums(facts.get("sums"))


def _load_segment(reader: _Folder, number: int, facts: Any, count: int) -> ItemSegment:
    if not isinstance(facts, dict):
        raise reader.error("set.json", f"segment {number} is not described")
    bits = reader.size(facts, "high_bits", 0, max(HIGH))
    shift, largest = reader.size(facts, "shift", 0, 1), reader.size(facts, "largest", 0, LARGEST_TOKEN + 1)
    first, there = reader.size(facts, "first", 0, count), facts.get("arrays")
    if bits not in HIGH or largest >> (LOW_BITS + bits) or not isinstance(there, list):
        raise reader.error(
            "set.json", f"segment {number} has cells up to {largest} of {LOW_BITS + bits} bits, in {there!r:.60}"
        )
    name = f"segment{number}.{{}}.npy".format
    low = reader.array(name("low"), "u2", (None, None))
    length, rows = low.shape
    high = reader.array(name("high"), "u1", (length, -(-rows * bits // 8)))
    starts = reader.array(name("starts"), "i4", (largest + 2,))
    order = reader.array(name("order"), "i4", (rows,)) if "order" in there else None
    if order is None and first + rows > count:
        raise reader.error("set.json", f"segment {number} has rows up to {first + rows}, the set has {count}")
    if order is not None and rows and (order.min() < 0 or order.max() >= count):
        raise reader.error(name("order"), f"its rows are not within 0 and {count - 1}")
    index = ItemIndex(low, high, bits, shift, largest, starts, order, first)
    _check_rows(reader, name("low"), index)
    if not np.array_equal(starts, index.first_rows()):
        raise reader.error(name("starts"), "its numbers are not those of the first column")
    if "alive" not in there:
        return ItemSegment(index, ALL_ROWS)
    words = reader.array(name("alive"), "u8", (-(-rows // 64),))
    if rows % 64 and int(words[-1]) >> (rows % 64):
        raise reader.error(name("alive"), "it has bits after the last row")
    return ItemSegment(index, with_summary(np.array(words)))


def _check_rows(reader: _Folder, name: str, index: ItemIndex) -> None:
    """Checks that no cell is larger than `largest`, and that rows are sorted."""
    for start in range(0, max(1, len(index)), CHUNK):
        end = min(start + CHUNK + 1, len(index))  # the first row of the next chunk, too
        equal = np.ones(max(0, end - start - 1), bool)
        for depth in range(index.length):
            cells = index.cells(depth, start, end)
            if len(cells) and int(cells.max()) > index.largest:
                raise reader.error(name, f"it has a cell of {cells.max()}, the largest is {index.largest}")
            if (equal & (cells[:-1] > cells[1:])).any():
                raise reader.error(name, f"its rows are not sorted, from row {start} on")
            equal &= cells[:-1] == cells[1:]


def _sum_of(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found = zlib.crc32(part, found)
    return found


class _Folder:
    """Reads files of one saved set."""

    def __init__(self, path: Path):
        self.path = path
        self.names: list[str] = []  # of the arrays that were read

    def facts(self) -> dict[str, Any]:
        try:
            facts = json.loads(read_file(self.path / "set.json"))
        except (OSError, ValueError, RecursionError) as error:
            raise GrammarError(f"{self.path} is no saved item set: {error}") from None
        if not isinstance(facts, dict) or facts.get("version") != VERSION:
            raise self.error("set.json", f"it is not of version {VERSION}; save the set anew")
        return facts

    def size(self, facts: dict[str, Any], name: str, low: int, high: int) -> int:
        value = facts.get(name)
        if type(value) is not int or not low <= value <= high:
            raise self.error("set.json", f"{name} is {value!r:.40}, not a number from {low} to {high}")
        return value

    def array(self, name: str, kind: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """A memory-mapped array; `kind` is a dtype as numpy writes it, or a choice of kinds."""
        self.names.append(name)
        try:
            array = map_array(self.path / name)
        except (OSError, ValueError) as error:
            raise self.error(name, str(error)) from None
        is_kind = array.dtype == np.dtype(kind) if kind[1:].isdigit() else array.dtype.kind in kind
        fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
        if not is_kind or not fits or not array.flags.c_contiguous:
            raise self.error(name, f"it holds {array.dtype} {list(array.shape)}, not {kind} {list(shape)}")
        return array

    def check_sums(self, sums: Any) -> None:
        """Checks that the arrays are those that were saved with this set.json."""
        for name in self.names:
            if not isinstance(sums, dict) or sums.get(name) != _sum_of(self.path / name):
                raise self.error(name, "it is not the array that was saved with set.json; save the set anew")

    def error(self, name: str, problem: str) -> GrammarError:
        return GrammarError(f"the item set in {self.path} cannot be read: {name}: {problem}")
