"""Arrays in a file come back as they were, or not at all."""

import os
import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from grammarlm.array_files import Unsound, load_arrays, remove_oldest, save_arrays

NUMBERS = st.sampled_from([np.uint8, np.int16, np.int32, np.uint64]).flatmap(
    lambda kind: arrays(kind, array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))
)


def checksum(data: np.ndarray) -> int:
    return zlib.crc32(data.data)


@given(st.dictionaries(st.text(min_size=1, max_size=3), NUMBERS, max_size=5))
def test_what_is_kept_comes_back(tmp_path_factory: Any, kept: dict[str, np.ndarray]) -> None:
    path = tmp_path_factory.getbasetemp() / "kept.bin"
    assert save_arrays(path, kept, 1 << 20, checksum)
    found = load_arrays(path, 1 << 20, checksum)
    assert list(found) == list(kept)
    for name, array in kept.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert np.array_equal(found[name], array)


def test_damage_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    kept = {"one": np.arange(7, dtype=np.int32), "two": np.arange(30, dtype=np.uint8).reshape(5, 6)}
    path, rng = tmp_path / "kept.bin", random.Random(5)
    assert save_arrays(path, kept, 1 << 20, checksum)
    whole, noticed = path.read_bytes(), 0
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit >> 3] ^= 1 << (bit & 7)
        if rng.random() < 0.1:
            damaged = damaged[: rng.randrange(len(damaged))]
        path.write_bytes(bytes(damaged))
        try:
            found = load_arrays(path, 1 << 20, checksum)
        except Exception:
            noticed += 1
        else:
            assert all(np.array_equal(found[name], array) for name, array in kept.items())
    assert noticed > 0.9 * 8 * len(whole)


def test_what_is_too_large_is_neither_written_nor_read(tmp_path: Path) -> None:
    kept = {"one": np.zeros(1 << 20, np.uint8)}
    assert not save_arrays(tmp_path / "kept.bin", kept, (1 << 20) - 1, checksum)
    assert not list(tmp_path.iterdir())
    assert save_arrays(tmp_path / "kept.bin", kept, 1 << 20, checksum)
    with pytest.raises(Unsound):
        load_arrays(tmp_path / "kept.bin", 1 << 18, checksum)


def test_the_oldest_go(tmp_path: Path) -> None:
    for age in range(5):
        (tmp_path / str(age)).write_bytes(bytes(10))
        os.utime(tmp_path / str(age), (age + 1, age + 1))
    remove_oldest(tmp_path, 4, 1000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3", "4"]
    remove_oldest(tmp_path, 4, 25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "4"]
    remove_oldest(tmp_path / "none", 1, 1)
