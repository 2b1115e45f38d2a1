"""Lark grammars on disk: the second compile makes of a file what the first made of the text, and no file does any harm."""

import dataclasses
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.array_files import load_arrays, save_arrays
from grammarlm.cache import cache_folder
from grammarlm.grammars.lark import cache as lark_cache
from grammarlm.grammars.lark.parser import LarkParser
from grammarlm.grammars.regular import charset, unicode_cache
from grammarlm.grammars.regular.derivatives import Algebra
from tests.grammars.lark.cached_lark import BLOCKS, GRAMMARS, VOCAB, masks_of, parser_of
from tests.internals import program_of


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, with the kernels that are compiled already."""
    kernels = cache_folder("numba")
    kernels.mkdir(parents=True, exist_ok=True)
    (tmp_path / "numba").symlink_to(kernels)
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path))
    return tmp_path / "lark"


@pytest.mark.parametrize("kind", GRAMMARS)
def test_the_second_compile_makes_the_same(kind: str, folder: Path) -> None:
    cold = gl.compile(GRAMMARS[kind], VOCAB)
    assert not parser_of(cold).is_known
    assert len(list(folder.iterdir())) == 1
    warm = gl.compile(GRAMMARS[kind], VOCAB)
    assert parser_of(warm).is_known
    assert warm.report == cold.report
    assert_same_partition(cold, warm)
    for seed in range(5):
        assert masks_of(warm, seed) == masks_of(cold, seed)
    assert_same_tables(parser_of(cold), parser_of(warm))


def assert_same_partition(cold: gl.Constraint, warm: gl.Constraint) -> None:
    mine, other = program_of(cold).byte_sets, program_of(warm).byte_sets
    assert (mine.class_of == other.class_of).all()
    assert mine.used == other.used


def assert_same_tables(cold: LarkParser, warm: LarkParser) -> None:
    assert (cold.tables is None) == (warm.tables is None)
    assert cold.productions == warm.productions
    if cold.tables is None or warm.tables is None:
        return
    for field in dataclasses.fields(cold.tables):
        mine, other = getattr(cold.tables, field.name), getattr(warm.tables, field.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == other.dtype
            assert np.array_equal(mine, other), field.name
        elif field.name == "items":
            assert list(mine) == list(other)
        elif field.name == "lexers":
            assert [(s.ordered, s.keywords, s.column) for s in mine] == [
                (s.ordered, s.keywords, s.column) for s in other
            ]
        else:
            assert mine == other, field.name


SECOND_PROCESS = """
import sys
import grammarlm as gl
from tests.grammars.lark.cached_lark import GRAMMARS, VOCAB, masks_of, parser_of
for kind in sys.argv[1:]:
    constraint = gl.compile(GRAMMARS[kind], VOCAB)
    print(parser_of(constraint).is_known, masks_of(constraint))
print("lark" in sys.modules)
"""


def start_process(*kinds: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", SECOND_PROCESS, *kinds], stdout=subprocess.PIPE, text=True)


def test_another_process_needs_no_lark() -> None:
    expected = [f"True {masks_of(gl.compile(grammar, VOCAB))}" for grammar in GRAMMARS.values()]
    process = start_process(*GRAMMARS)
    printed, _ = process.communicate()
    assert process.returncode == 0
    assert printed.splitlines() == [*expected, "False"]


def test_processes_that_race(folder: Path) -> None:
    processes = [start_process("tables", "blocks") for _ in range(3)]
    printed = [[line.split()[-1] for line in process.communicate()[0].splitlines()[:2]] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert printed == [[masks_of(gl.compile(GRAMMARS[kind], VOCAB)) for kind in ("tables", "blocks")]] * 3
    assert sorted(path.suffix for path in folder.iterdir()) == [".bin", ".bin"]
    assert all(parser_of(gl.compile(GRAMMARS[kind], VOCAB)).is_known for kind in ("tables", "blocks"))


def the_entry(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_a_file_cut_short_is_made_again(folder: Path) -> None:
    expected = masks_of(gl.compile(GRAMMARS["blocks"], VOCAB))
    whole = the_entry(folder).read_bytes()
    for length in (0, 1, 30, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        the_entry(folder).write_bytes(whole[:length])
        again = gl.compile(GRAMMARS["blocks"], VOCAB)
        assert not parser_of(again).is_known
        assert masks_of(again) == expected
        assert parser_of(gl.compile(GRAMMARS["blocks"], VOCAB)).is_known


@pytest.mark.parametrize("kind", ["tables", "rules"])
def test_flipped_bits_change_no_mask(kind: str, folder: Path) -> None:
    expected = masks_of(gl.compile(GRAMMARS[kind], VOCAB))
    whole, rng, noticed = the_entry(folder).read_bytes(), random.Random(kind), 0
    for _ in range(40):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        the_entry(folder).write_bytes(bytes(damaged))
        again = gl.compile(GRAMMARS[kind], VOCAB)
        noticed += not parser_of(again).is_known
        assert masks_of(again) == expected
    assert noticed > 35  # the others were flipped in the blanks after the table


def change(name: str, value: Callable[[np.ndarray], None]) -> Callable[[dict[str, np.ndarray]], None]:
    def apply(arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = arrays[name].copy()
        value(arrays[name])

    return apply


def put(index: Any, value: int) -> Callable[[np.ndarray], None]:
    def apply(array: np.ndarray) -> None:
        array[index] = value

    return apply


def replaced(old: bytes, new: bytes) -> Callable[[dict[str, np.ndarray]], None]:
    def apply(arrays: dict[str, np.ndarray]) -> None:
        plain = arrays["plain"].tobytes()
        assert old in plain
        arrays["plain"] = np.frombuffer(plain.replace(old, new, 1), np.uint8)

    return apply


def dropped(name: str) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda arrays: arrays.update({name: arrays[name][:-1]})


UNSOUND = {
    "a shift to no state": change("action", put((0, 0), 20_000)),
    "a reduction by no rule": change("action", put((0, 0), -20_000)),
    "a goto to no state": change("goto", put((0, 0), 20_000)),
    "a goto before all states": change("goto", put((0, 0), -2)),
    "a rule longer than its stack": change("rule", put((slice(None), 0), 300)),
    "a rule of less than nothing": change("rule", put((0, 0), -1)),
    "a rule for no nonterminal": change("rule", put((0, 1), 300)),
    "no such context": change("context_of", put(0, 300)),
    "a context before all": change("context_of", put(0, -1)),
    "no such bracket": change("access", put(0, 200)),
    "fewer rows of actions": dropped("action"),
    "fewer rows of gotos": dropped("goto"),
    "fewer terminals": dropped("ignored"),
    "fewer contexts": dropped("context_of"),
    "fewer accesses": dropped("access"),
    "another kind of number": lambda arrays: arrays.update(action=arrays["action"].astype(np.float64)),
    "an item of no nonterminal": change("items", put((0, 0), 300)),
    "an item beyond its symbols": change("items", put((0, 3), 3000)),
    "no such symbol": change("item_symbols", put(0, 300)),
    "fewer states with items": dropped("items_begin"),
    "no arrays": lambda arrays: arrays.pop("goto"),
    "no such newline": replaced(b'"newline": ', b'"newline": 9'),
    "a start beyond": replaced(b'"tables": [', b'"tables": [999'),
    "a context of no terminal": replaced(b'"contexts": [[[', b'"contexts": [[[999, '),
    "a terminal without a name": replaced(b'"terminals": [["', b'"terminals": [[7, "'),
    "text that is no JSON": replaced(b"{", b"["),
}


@pytest.mark.parametrize("how", UNSOUND)
def test_what_kernels_index_with_is_checked(how: str, folder: Path) -> None:
    gl.compile(GRAMMARS["blocks"], VOCAB)
    path = the_entry(folder)
    arrays = load_arrays(path, lark_cache.LARGEST, lark_cache._checksum)
    assert load(path) is not None
    UNSOUND[how](arrays)
    assert save_arrays(path, arrays, lark_cache.LARGEST, lark_cache._checksum)
    assert load(path) is None
    assert not parser_of(gl.compile(GRAMMARS["blocks"], VOCAB)).is_known


def load(path: Path) -> LarkParser | None:
    return lark_cache.load_entry(path, Algebra(100, lambda: None), lambda: None)


def test_a_folder_that_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = masks_of(gl.compile(GRAMMARS["tables"], VOCAB))
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        constraint = gl.compile(GRAMMARS["tables"], VOCAB)
        assert not parser_of(constraint).is_known
        assert masks_of(constraint) == expected


REFUSED = {
    "broken": gl.Lark("start: ("),
    "no such rule": gl.Lark("start: other"),
    "a reference back": gl.Lark("start: A\nA: /(a)\\1/"),
    "look-behind before the first character": gl.Lark("start: A B\nA: /a/\nB: /(?<=a)b/"),
    "the same where it is not LALR(1)": gl.Lark('start: a | b\na: X X "!"\nb: X Y "?"\nX: /[a-c]+/\nY: /(?<=a)[b-d]+/'),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_is_refused_is_not_kept(how: str, folder: Path) -> None:
    messages = set()
    for _ in range(2):
        with pytest.raises(gl.GrammarError) as caught:
            gl.compile(REFUSED[how], VOCAB)
        messages.add(str(caught.value))
        assert not folder.exists()
    assert len(messages) == 1


@pytest.mark.parametrize("limits", [gl.Limits(max_depth=1), gl.Limits(max_states=12)])
def test_limits_are_kept_by_the_second_compile(limits: gl.Limits) -> None:
    with pytest.raises(gl.LimitExceeded) as cold:
        gl.compile(GRAMMARS["tables"], VOCAB, limits=limits)
    gl.compile(GRAMMARS["tables"], VOCAB)
    with pytest.raises(gl.LimitExceeded) as warm:
        gl.compile(GRAMMARS["tables"], VOCAB, limits=limits)
    assert str(warm.value) == str(cold.value)


def test_another_grammar_is_another_file(folder: Path) -> None:
    text = "start: A\nother: B\nA: /a\\n?/\nB: /b/\n"
    grammars = [gl.Lark(text), gl.Lark(text, start="other"), gl.Lark(text + "\n"), gl.Lark(BLOCKS, indent=gl.Indent())]
    grammars.append(gl.Lark(BLOCKS, indent=gl.Indent(tab=4)))
    for number, grammar in enumerate(grammars, 1):
        assert not parser_of(gl.compile(grammar, VOCAB)).is_known
        assert len(list(folder.iterdir())) == number
    assert all(parser_of(gl.compile(grammar, VOCAB)).is_known for grammar in grammars)
    first, second, *_ = (gl.compile(grammar, VOCAB).matcher() for grammar in grammars)
    assert first.advance(ord("a"))
    assert not first.fork().advance(ord("b"))
    assert second.advance(ord("b"))


def test_the_oldest_files_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lark_cache, "MOST_FILES", 3)
    texts = [f'start: "{letter}"' for letter in "abcde"]
    for age, text in enumerate(texts[:3]):
        gl.compile(gl.Lark(text), VOCAB)
        path = lark_cache.entry_path(text, "start", None, gl.Limits().max_depth)
        os.utime(path, (age + 1, age + 1))
    gl.compile(gl.Lark(texts[0]), VOCAB)  # used again: the second is the oldest now
    gl.compile(gl.Lark(texts[3]), VOCAB)
    known = [lark_cache.entry_path(text, "start", None, gl.Limits().max_depth).exists() for text in texts]
    assert known == [True, False, True, True, False]
    assert len(list(folder.iterdir())) == 3


def test_an_entry_too_large_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lark_cache, "LARGEST", 1000)
    gl.compile(GRAMMARS["tables"], VOCAB)
    assert not folder.exists()


def test_verdicts_are_there_again() -> None:
    grammar = gl.Lark('start: "verdicts"')
    constraint = gl.compile(grammar, VOCAB)
    parser = parser_of(constraint)
    parser.verdicts["proof 1"] = [True, {"a": 3}]
    lark_cache.save_entry(parser)
    assert parser_of(gl.compile(grammar, VOCAB)).verdicts["proof 1"] == [True, {"a": 3}]


def test_tables_of_characters_survive_damage(tmp_path: Path) -> None:
    expected = charset.unicode_category("d")
    for damage in (None, lambda data: b"", lambda data: data[:-9], lambda data: data[:-40] + b"\1" + data[-39:]):
        charset.unicode_category.cache_clear()
        unicode_files = sorted((tmp_path / "unicode").glob("category-d-*"))
        if damage is not None:
            (path,) = unicode_files
            path.write_bytes(damage(path.read_bytes()))
        assert charset.unicode_category("d") == expected
    charset.unicode_category.cache_clear()
    rows = unicode_cache.code_points("category-d", lambda: [(0, 0)])
    assert tuple(rows) == expected  # from the disk: whole again
