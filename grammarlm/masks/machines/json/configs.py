"""Configs without the numbers of an epoch: by them a matcher moves from a full epoch to the next.

A config is threads, each with its frames, from the innermost outwards, and the key that is being read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from grammarlm.layout.json import INLINE, Frame, Kind, Object

from .machine import Machine

# A frame without numbers: its words, its other keys, the bits of the keys seen where they are many, the item being read.
FrameContent = tuple[tuple[int, ...], tuple[bytes, ...], tuple[int, ...], bytes]
Frames = tuple[FrameContent, ...]  # from the innermost outwards
Config = tuple[tuple[int, int, int, Frames, bytes], ...]  # of each thread: c, x, y, its frames, the key being read


def config_of(machine: Machine, state: int) -> Config:
    """A config without numbers of this epoch: threads, with the contents of their frames and keys."""
    threads = threads_of(machine, state)
    return tuple([(c, x, y, _frames_of(machine, f), _key_begun(machine, c, y)) for c, x, y, f in threads])


def key(machine: Machine, state: int) -> Hashable:
    """Equal keys, equal futures, whatever the epoch: a config without numbers, without what no longer matters."""
    threads = []
    for c, x, y, f in threads_of(machine, state):
        frames = tuple(
            (_relevant(machine, words), frozenset(others), seen, text)
            for words, others, seen, text in _frames_of(machine, f)
        )
        threads.append((c, x, y & 0xFFFFFF if c & 31 == Kind.KEY else y, frames, _key_begun(machine, c, y)))
    return frozenset(threads)


def _key_begun(machine: Machine, c: int, y: int) -> bytes:
    return chain_of(machine, y >> 24) if c & 31 == Kind.KEY else b""


def _relevant(machine: Machine, words: tuple[int, ...]) -> tuple[int, ...]:
    """The relevant numbers of a frame: row, keys seen, count, last, needed."""
    row, seen, count = words[Frame.ROW], words[Frame.SEEN], words[Frame.COUNT]
    if not row >> 40:
        rows = machine.program.json.rows
        if rows[row + Object.MOST] < 0:
            count = min(count, max(int(rows[row + Object.LEAST]), 0))
        if words_of_seen(machine, row):
            seen = 0  # the number of a set, whose content is in the key separately
    return row, seen, count, words[Frame.LAST], words[Frame.NEEDED]


def chain_of(machine: Machine, entry: int) -> bytes:
    found = bytearray()
    while entry:
        entry, word = machine.arrays["chains"][entry].tolist()
        found.append(word & 0xFF)
    return bytes(reversed(found))


def _frames_of(machine: Machine, frame: int) -> Frames:
    found = []
    while frame:
        words = machine.arrays["frames"][frame].tolist()
        others, entry = [], words[Frame.OTHERS]
        while entry:
            entry, chain = machine.arrays["chains"][entry].tolist()
            others.append(chain_of(machine, chain))
        many = words_of_seen(machine, words[Frame.ROW])
        seen = machine.arrays["chains"].reshape(-1)[2 * words[Frame.SEEN] : 2 * words[Frame.SEEN] + many].tolist()
        bits = tuple(seen) if many and words[Frame.SEEN] else ()
        found.append((tuple(words), tuple(others), bits, chain_of(machine, words[Frame.TEXT])))
        frame = words[Frame.PARENT]
    return tuple(found)


def threads_of(machine: Machine, state: int) -> list[tuple[int, int, int, int]]:
    """The threads of a config: c, x, y, and the number of the frame."""
    found, records = [], machine.arrays["records"]
    while state:
        c, x, y, f, state = records[state].tolist()
        found.append((c, x, y, f))
    return found


def frames_around(machine: Machine, f: int) -> Iterator[int]:
    """The frame and those around it, from the innermost outwards."""
    while f:
        yield f
        f = int(machine.arrays["frames"][f, Frame.PARENT])


def words_of_seen(machine: Machine, row: int) -> int:
    """Words of the bits of keys seen, for an object of many keys; 0 for all others."""
    if row >> 40:
        return 0
    count = int(machine.program.json.rows[row + Object.COUNT])
    return 0 if count <= INLINE else -(-count // INLINE)


def put(machine: Machine, config: Config) -> int:
    """The config, copied into this machine."""
    threads = []
    made: dict[Frames, int] = {}
    for c, x, y, frames, chain in config:
        frame = _put_frames(machine, frames, made)
        if c & 31 == Kind.KEY:
            threads.append((c, x, y & 0xFFFFFF | _put_chain(machine, chain) << 24, frame))
        else:
            threads.append((c, x, y, frame))
    return put_record(machine, threads)


def put_record(machine: Machine, threads: list[tuple[int, int, int, int]]) -> int:
    """A record for each thread, linked; the number of the first."""
    made = 0
    for words in reversed(threads):
        made = machine.put("records", [*words, made])
    return made


def _put_frames(machine: Machine, frames: Frames, made: dict[Frames, int]) -> int:
    below = 0
    for at in range(len(frames) - 1, -1, -1):
        key = frames[at:]
        if key not in made:
            content, others, seen, text = frames[at]
            words = list(content)
            words[Frame.PARENT], words[Frame.OTHERS], words[Frame.TEXT] = below, 0, _put_chain(machine, text)
            for name in reversed(others):
                words[Frame.OTHERS] = put_entry(machine, words[Frame.OTHERS], _put_chain(machine, name))
            if seen:
                padded = [*seen, 0][: 2 * (-(-len(seen) // 2))]
                entries = [put_entry(machine, *padded[i : i + 2]) for i in range(0, len(padded), 2)]
                words[Frame.SEEN] = entries[0]
            made[key] = machine.put("frames", words)
        below = made[key]
    return below


def put_entry(machine: Machine, before: int, word: int) -> int:
    return machine.put("chains", [before, word])


def _put_chain(machine: Machine, text: bytes) -> int:
    chain, hashed = 0, 0
    for length, byte in enumerate(text, 1):
        hashed = (hashed * 31 + byte + 1) & 0x7FFFFFFF
        chain = put_entry(machine, chain, byte | min(length, 0xFFFFFF) << 8 | hashed << 32)
    return chain
