"""Files of a cache under each other's names: what is kept for one thing is never taken for another.

For each kind of cache there are two files of it; their contents change places, and everything is as it was, made anew by a process
that finds the files so.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.regular import charset, unicode_cache
from grammarlm.masks.machines.json import formats
from grammarlm.retrieval.item_set import ItemSet


def swap(one: Path, other: Path) -> None:
    contents = one.read_bytes(), other.read_bytes()
    assert contents[0] != contents[1]
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, but for the kernels."""
    from grammarlm.kernels.cpu.jit import kernel_folder

    kernels = kernel_folder().parent
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "numba").symlink_to(kernels, target_is_directory=True)
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_swapped_table_of_characters_is_made_anew(cache: Path) -> None:
    tables = {name: [(number, number + 1)] for number, name in enumerate(("one", "two"))}
    for name, rows in tables.items():
        assert unicode_cache.code_points(name, lambda rows=rows: rows) == rows
    swap(*sorted((cache / "unicode").iterdir()))
    for name, rows in tables.items():
        assert unicode_cache.code_points(name, lambda rows=rows: rows) == rows


def test_tables_of_characters_survive_damage(cache: Path) -> None:
    expected = charset.unicode_category("d")
    for damage in (None, lambda data: b"", lambda data: data[:-9], lambda data: data[:-40] + b"\1" + data[-39:]):
        charset.unicode_category.cache_clear()
        unicode_files = sorted((cache / "unicode").glob("category-d-*"))
        if damage is not None:
            (path,) = unicode_files
            path.write_bytes(damage(path.read_bytes()))
        assert charset.unicode_category("d") == expected
    charset.unicode_category.cache_clear()
    rows = unicode_cache.code_points("category-d", lambda: [(0, 0)])
    assert tuple(rows) == expected  # from the disk: whole again


def test_swapped_automata_of_formats_are_made_anew(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two versions of the sources, which may give a format's states other numbers."""
    found = {}
    for version in ("first", "second"):
        made = partial(formats.automata_of.__wrapped__, ("date", "uuid"))
        monkeypatch.setattr(formats, "_fingerprint", lambda version=version: version)
        if version == "second":
            monkeypatch.setattr(formats, "_explored", lambda names: pytest.fail("explored"))
            whole = found["first"]
            turned = replace(whole, starts=whole.starts[::-1].copy())
            monkeypatch.setattr(formats, "_explored", lambda names: (None, None, None))
            monkeypatch.setattr(formats, "_smallest", lambda *arguments, turned=turned: turned)
        found[version] = made()
    swap(*sorted((cache / "formats").iterdir()))
    for version in ("first", "second"):
        monkeypatch.setattr(formats, "_fingerprint", lambda version=version: version)
        monkeypatch.setattr(formats, "_explored", lambda names: (None, None, None))
        monkeypatch.setattr(formats, "_smallest", lambda *arguments, version=version: found[version])
        assert np.array_equal(made().starts, found[version].starts)


def test_swapped_arrays_of_item_sets_are_refused(tmp_path: Path) -> None:
    rows = np.arange(40).reshape(20, 2)
    labels = {"kind": np.arange(20) % 2, "size": np.arange(20) % 3}
    for name in ("one", "two"):
        ItemSet(gl.Tokens(rows + (name == "two"), ids=np.arange(20) * (2 if name == "two" else 1)), groups=labels).save(
            tmp_path / name
        )
    for one, other in (
        ("one/group0.npy", "one/group1.npy"),
        ("one/ids.npy", "two/ids.npy"),
        ("one/segment0.low.npy", "two/segment0.low.npy"),
        ("one/set.json", "two/set.json"),
    ):
        swap(tmp_path / one, tmp_path / other)
        with pytest.raises(gl.GrammarError):
            ItemSet.load(tmp_path / "one")
        swap(tmp_path / one, tmp_path / other)
        assert ItemSet.load(tmp_path / "one").count == 20
