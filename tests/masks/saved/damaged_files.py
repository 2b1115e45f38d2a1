"""Damage to a file's bytes."""

import random
from collections.abc import Callable, Sequence

import pytest

import grammarlm as gl


def damaged(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at, action = rng.randrange(len(changed) + 1), rng.random()
        if action < 0.6 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif action < 0.75:
            changed.insert(at, rng.choice(b"NTFinsb(Gd\x00\x01\x02a*+)") if rng.random() < 0.5 else rng.randrange(256))
        elif action < 0.9 and len(changed) > 1:
            del changed[at % len(changed)]
        else:
            changed[at:at] = changed[at : at + rng.randint(1, 9)]
    return bytes(changed)


def check_damage(sound: Sequence[bytes], read: Callable[[bytes], object], count: int) -> None:
    """So many damaged files, and some that are nothing at all, are refused."""
    rng = random.Random(count)
    for _ in range(count):
        data = damaged(rng.choice(sound), rng) if rng.random() < 0.8 else rng.randbytes(rng.randint(0, 100))
        if data not in sound:
            with pytest.raises(gl.GrammarError):
                read(data)
