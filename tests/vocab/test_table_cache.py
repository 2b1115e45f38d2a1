"""Tables on disk: read back as they were, by two processes at once; damaged files lead to a fresh table."""

import random
import subprocess
import sys

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.array_files import keyed_digest, save_arrays
from grammarlm.cache import write_atomically
from grammarlm.vocab import table_cache
from grammarlm.vocab.token_table import TokenTable

from . import built

TABLE = TokenTable.from_tokens([b"<s>", b"a", b"", b"\xe2\x82", b"bc"], special_ids=[0], end_ids=[0, 4])


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch, own_cache_folder):
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path / "cache"))


def same(one: TokenTable, other: TokenTable | None) -> bool:
    return other is not None and (one.offsets.tolist(), one.data.tobytes(), one.special_ids, one.end_ids) == (
        other.offsets.tolist(),
        other.data.tobytes(),
        other.special_ids,
        other.end_ids,
    )


@pytest.mark.parametrize("table", [TABLE, TokenTable.from_tokens([b""])], ids=["tokens", "nothing"])
def test_read_back(table):
    assert table_cache.load("key") is None
    assert table_cache.save("key", table)
    assert same(table, table_cache.load("key"))


def test_any_damage_is_seen():
    table_cache.save("key", TABLE)
    path = table_cache.path_of("key")
    stored = path.read_bytes()
    rng = random.Random("damage")
    for end in range(len(stored)):
        path.write_bytes(stored[:end])
        assert table_cache.load("key") is None
    for at in range(len(stored)):
        path.write_bytes(stored[:at] + bytes([stored[at] ^ (1 << rng.randrange(8))]) + stored[at + 1 :])
        assert table_cache.load("key") is None
    path.write_bytes(stored + b"\0")
    assert table_cache.load("key") is None
    path.write_bytes(stored)
    assert same(TABLE, table_cache.load("key"))


OFFSETS, NO_IDS, DATA = [0, 1, 3], [], b"abc"


@pytest.mark.parametrize(
    "numbers",
    [
        [],
        [[0]],
        [[], NO_IDS, NO_IDS, b""],
        [[0], NO_IDS, NO_IDS, b""],
        [OFFSETS, NO_IDS, NO_IDS, b"ab"],
        [[[0, 1, 3]], NO_IDS, NO_IDS, DATA],
        [[1, 1, 3], NO_IDS, NO_IDS, DATA],
        [[0, 1, 4], NO_IDS, NO_IDS, DATA],
        [[0, 4, 3], NO_IDS, NO_IDS, DATA],
        [[0, -1, 3], NO_IDS, NO_IDS, DATA],
        [OFFSETS, [-1], NO_IDS, DATA],
        [OFFSETS, [1, 1], NO_IDS, DATA],
        [OFFSETS, NO_IDS, [1, 0], DATA],
        [OFFSETS, NO_IDS, NO_IDS, DATA, DATA],
        [OFFSETS, NO_IDS, b"a", DATA],
    ],
)
def test_impossible_numbers_are_refused(numbers):
    arrays = [np.frombuffer(n, np.uint8) if isinstance(n, bytes) else np.array(n, np.int64) for n in numbers]
    assert save_arrays(table_cache.path_of("key"), "key", arrays)
    assert table_cache.load("key") is None


@pytest.mark.parametrize("content", [b"", b"abc", b"\x93NUMPY\x01\0"])
def test_what_is_no_array_is_refused(content):
    """Under a right digest, whoever wrote it."""
    assert write_atomically(table_cache.path_of("key"), keyed_digest("key", content) + content)
    assert table_cache.load("key") is None


def test_the_table_of_another_key_is_refused():
    table_cache.save("key", TABLE)
    other = TokenTable.from_tokens([b"b"])
    table_cache.save("other", other)
    one, two = table_cache.path_of("key"), table_cache.path_of("other")
    contents = one.read_bytes(), two.read_bytes()
    one.write_bytes(contents[1])
    two.write_bytes(contents[0])
    assert table_cache.load("key") is None
    assert table_cache.load("other") is None


def test_the_second_load_reads_the_cache_and_a_damaged_one_is_replaced(tmp_path, monkeypatch):
    folder = built.saved(tmp_path, built.byte_level())
    first = gl.Vocabulary.from_tokenizer(folder)
    (path,) = (tmp_path / "cache" / "vocab").iterdir()
    stored = path.read_bytes()
    path.write_bytes(stored[:-1] + b"?")
    assert gl.Vocabulary.from_tokenizer(folder) == first
    assert path.read_bytes() == stored
    monkeypatch.setattr("grammarlm.vocab.tokenizers.files._read_json", None)
    assert gl.Vocabulary.from_tokenizer(folder, size=600, stop_ids=[3]).size == 600


def test_changed_files_have_another_table(tmp_path):
    folder = built.saved(tmp_path, built.byte_level())
    first = gl.Vocabulary.from_tokenizer(folder)
    (folder / "generation_config.json").write_text('{"eos_token_id": [1, 2]}')
    assert gl.Vocabulary.from_tokenizer(folder).stop_ids == (1, 2, *first.stop_ids)
    (folder / "generation_config.json").unlink()
    assert gl.Vocabulary.from_tokenizer(folder) == first


def test_a_disk_that_takes_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path / "file"))
    folder = built.saved(tmp_path, built.byte_level())
    assert gl.Vocabulary.from_tokenizer(folder) == gl.Vocabulary.from_tokenizer(folder)


def test_two_processes_at_once(tmp_path):
    folder = built.saved(tmp_path, built.byte_level())
    program = f"import grammarlm as gl; print(gl.Vocabulary.from_tokenizer({str(folder)!r}).fingerprint)"
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = {process.communicate(timeout=120)[0].strip() for process in processes}
    assert printed == {gl.Vocabulary.from_tokenizer(folder).fingerprint}
    assert len(list((tmp_path / "cache" / "vocab").iterdir())) == 1  # and no temporary file is left
