"""Configs without the numbers of an epoch: by them a matcher moves from a full epoch to the next.

A config is threads, each with its frames, from the innermost outwards, and the key that is being read.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from grammarlm.layout.json import INLINE, Frame, Kind, Object

if TYPE_CHECKING:
    from .epoch import JsonEpoch

# A frame without numbers: its words, its other keys, the bits of the keys seen where they are many, the item being read.
FrameContent = tuple[tuple[int, ...], tuple[bytes, ...], tuple[int, ...], bytes]
Frames = tuple[FrameContent, ...]  # from the innermost outwards
Config = tuple[tuple[int, int, int, Frames, bytes], ...]  # of each thread: c, x, y, its frames, the key being read


def config_of(epoch: JsonEpoch, state: int) -> Config:
    """A config without numbers of this epoch: threads, with the contents of their frames and keys."""
    threads = []
    while state:
        c, x, y, f, state = epoch.arrays["records"][state].tolist()
        chain = chain_of(epoch, y >> 24) if c & 31 == Kind.KEY else b""
        threads.append((c, x, y, _frames_of(epoch, f), chain))
    return tuple(threads)


def key(epoch: JsonEpoch, state: int) -> Hashable:
    """Equal keys, equal futures, whatever the epoch: a config without numbers, without what no longer matters."""
    threads = []
    while state:
        c, x, y, f, state = epoch.arrays["records"][state].tolist()
        frames = tuple(
            (_relevant(epoch, words), frozenset(others), seen, text)
            for words, others, seen, text in _frames_of(epoch, f)
        )
        is_key = c & 31 == Kind.KEY
        threads.append((c, x, y & 0xFFFFFF if is_key else y, frames, chain_of(epoch, y >> 24) if is_key else b""))
    return frozenset(threads)


def _relevant(epoch: JsonEpoch, words: tuple[int, ...]) -> tuple[int, ...]:
    """The relevant numbers of a frame: row, keys seen, count, last, needed."""
    row, seen, count = words[Frame.ROW], words[Frame.SEEN], words[Frame.COUNT]
    if not row >> 40:
        rows = epoch.program.json.rows
        if rows[row + Object.MOST] < 0:
            count = min(count, max(int(rows[row + Object.LEAST]), 0))
        if words_of_seen(epoch, row):
            seen = 0  # the number of a set, whose content is in the key separately
    return row, seen, count, words[Frame.LAST], words[Frame.NEEDED]


def chain_of(epoch: JsonEpoch, entry: int) -> bytes:
    found = bytearray()
    while entry:
        entry, word = epoch.arrays["chains"][entry].tolist()
        found.append(word & 0xFF)
    return bytes(reversed(found))


def _frames_of(epoch: JsonEpoch, frame: int) -> Frames:
    found = []
    while frame:
        words = epoch.arrays["frames"][frame].tolist()
        others, entry = [], words[Frame.OTHERS]
        while entry:
            entry, chain = epoch.arrays["chains"][entry].tolist()
            others.append(chain_of(epoch, chain))
        many = words_of_seen(epoch, words[Frame.ROW])
        seen = epoch.arrays["chains"].reshape(-1)[2 * words[Frame.SEEN] : 2 * words[Frame.SEEN] + many].tolist()
        bits = tuple(seen) if many and words[Frame.SEEN] else ()
        found.append((tuple(words), tuple(others), bits, chain_of(epoch, words[Frame.TEXT])))
        frame = words[Frame.PARENT]
    return tuple(found)


def threads_of(epoch: JsonEpoch, state: int) -> list[tuple[int, int, int, int]]:
    """The threads of a config: c, x, y, and the number of the frame."""
    found, records = [], epoch.arrays["records"]
    while state:
        c, x, y, f, state = records[state].tolist()
        found.append((c, x, y, f))
    return found


def words_of_seen(epoch: JsonEpoch, row: int) -> int:
    """Words of the bits of keys seen, for an object of many keys; 0 for all others."""
    if row >> 40:
        return 0
    count = int(epoch.program.json.rows[row + Object.COUNT])
    return 0 if count <= INLINE else -(-count // INLINE)


def put(epoch: JsonEpoch, config: Config) -> int:
    """The config, copied into this epoch."""
    threads = []
    made: dict[Frames, int] = {}
    for c, x, y, frames, chain in config:
        frame = _put_frames(epoch, frames, made)
        if c & 31 == Kind.KEY:
            threads.append((c, x, y & 0xFFFFFF | _put_chain(epoch, chain) << 24, frame))
        else:
            threads.append((c, x, y, frame))
    return put_record(epoch, threads)


def put_record(epoch: JsonEpoch, threads: list[tuple[int, int, int, int]]) -> int:
    """A record for each thread, linked; the number of the first."""
    made = 0
    for words in reversed(threads):
        made = epoch.put("records", [*words, made])
    return made


def _put_frames(epoch: JsonEpoch, frames: Frames, made: dict[Frames, int]) -> int:
    below = 0
    for at in range(len(frames) - 1, -1, -1):
        key = frames[at:]
        if key not in made:
            content, others, seen, text = frames[at]
            words = list(content)
            words[Frame.PARENT], words[Frame.OTHERS], words[Frame.TEXT] = below, 0, _put_chain(epoch, text)
            for name in reversed(others):
                words[Frame.OTHERS] = put_entry(epoch, words[Frame.OTHERS], _put_chain(epoch, name))
            if seen:
                padded = [*seen, 0][: 2 * (-(-len(seen) // 2))]
                entries = [put_entry(epoch, *padded[i : i + 2]) for i in range(0, len(padded), 2)]
                words[Frame.SEEN] = entries[0]
            made[key] = epoch.put("frames", words)
        below = made[key]
    return below


def put_entry(epoch: JsonEpoch, before: int, word: int) -> int:
    return epoch.put("chains", [before, word])


def _put_chain(epoch: JsonEpoch, text: bytes) -> int:
    chain, hashed = 0, 0
    for length, byte in enumerate(text, 1):
        hashed = (hashed * 31 + byte + 1) & 0x7FFFFFFF
        chain = put_entry(epoch, chain, byte | min(length, 0xFFFFFF) << 8 | hashed << 32)
    return chain
