"""Mutants of the kernels: does a wrong line fail a test of the kernel's own room, tests/kernels/ROOM?

    python -m tests.mutants                     lists them
    python -m tests.mutants 3 17                runs the tests of their rooms against these two
    python -m tests.mutants all                 all of them
    python -m tests.mutants 3 --tests FILE ...  only these tests

A mutant is one line of a kernel, changed. It is applied to a copy of the package, which has a kernel cache of its own: compiling
takes a minute. The tests run on the unchanged copy first and must pass there, or nothing that they catch means anything. Exit
status 1: some survived.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KERNELS = Path("grammarlm/kernels/cpu")
COPIED = ("grammarlm", "tests", "benchmarks", "training")
CAUGHT, SURVIVED = "caught", "survived"
FAILED = 1  # pytest's status where a test has failed; others mean that there was no answer


class Mutant(NamedTuple):
    file: str  # in KERNELS
    line: str  # without its indentation; stands in the file once
    changed: str

    def applied(self, source: str) -> str:
        """The source with the line changed. Raises where the line is not there exactly once, so no mutant goes stale unseen."""
        lines = source.splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if line.strip() == self.line]
        if len(places) != 1:
            raise ValueError(f"{self.file}: {self.line!r} stands there {len(places)} times, not once")
        lines[places[0]] = lines[places[0]].replace(self.line, self.changed)
        return "".join(lines)

    def __str__(self) -> str:
        return f"{self.file}: {self.line}\n        -> {self.changed}"


MUTANTS = [
    # the regular walk
    Mutant("table/walk.py", "if usable[uint64(state)] == UNKNOWN:", "if usable[uint64(state)] == NO:"),
    Mutant(
        "table/walk.py", "if ask and found != nothing and usable[uint64(state)] != YES:", "if ask and found == nothing:"
    ),
    Mutant(
        "table/walk.py",
        "row[uint64(index) >> uint64(5)] |= int32(1) << int32(index & uint32(31))",
        "row[uint64(index) >> uint64(5)] |= int32(1) << int32(index & uint32(15))",
    ),
    Mutant(
        "table/walk.py", "targets[twins[i, 0]] = targets[twins[i, 1]]", "targets[twins[i, 1]] = targets[twins[i, 0]]"
    ),
    # configs
    Mutant("stack/configs.py", "if status & READS:", "if status & EXPANDED:"),
    Mutant(
        "stack/configs.py",
        "elif kind == LINE and ints(arena, Field.S_BRACKETS, capacity)[s] > 0:",
        "elif kind == LINE and ints(arena, Field.S_BRACKETS, capacity)[s] > 1:",
    ),
    Mutant("stack/configs.py", "live = live or here[after, w] & there[k, w] != 0", "live = True"),
    Mutant(
        "stack/configs.py",
        "octets(arena, Field.C_ACCEPTS, capacity)[new] = closed[0, 0] == ACCEPT",
        "octets(arena, Field.C_ACCEPTS, capacity)[new] = closed[0, 0] < ACCEPT",
    ),
    Mutant(
        "stack/configs.py",
        "stack, here = symbol - UNION, int64(parents[here])",
        "here = int64(parents[here])",
    ),
    # stacks
    Mutant("stack/stacks.py", "for _ in range(length - 1):", "for _ in range(length):"),
    Mutant("stack/stacks.py", "brackets[new] -= 1", "brackets[new] -= 2"),
    Mutant(
        "stack/stacks.py",
        "indents[new], openers[new] = indents[outside], openers[outside]",
        "indents[new], openers[new] = indents[parent], openers[parent]",
    ),
    Mutant("stack/stacks.py", "if width > indents[stack]:", "if width >= indents[stack]:"),
    Mutant("stack/stacks.py", "return stack if width == indents[stack] else int64(0)", "return stack"),
    Mutant(
        "stack/stack_classes.py",
        "set_terminal(live, new, terminals + 1, in_brackets)",
        "set_terminal(live, new, terminals + 1, False)",
    ),
    Mutant("stack/unions.py", "for i in range(count - 2, begin - 1, -1):", "for i in range(count - 2, begin, -1):"),
    # surveys and remainders
    Mutant("surveys/frame_ends.py", "if 0 < label <= terminals and border == ANY:", "if 0 < label <= terminals:"),
    Mutant(
        "surveys/remainders.py",
        "while next_ < stop and pool[next_, 0] == byte:",
        "while next_ < stop and pool[next_, 0] < byte:",
    ),
    Mutant(
        "surveys/remainders.py",
        "draft[entries, 0], draft[entries, 1] = source[i, 0], source[i, 1] + gone",
        "draft[entries, 0], draft[entries, 1] = source[i, 0], source[i, 1]",
    ),
    Mutant(
        "surveys/remainders.py",
        "if is_alike and same_words(entries, 2 * int64(tries[known, 2]), draft, 2 * count):",
        "if not is_alike and same_words(entries, 2 * int64(tries[known, 2]), draft, 2 * count):",
    ),
    Mutant("surveys/masks.py", "if beginnings[0]:", "if beginnings[0] < 0:"),
    Mutant("surveys/walk.py", "elif run < node:", "elif run + uint64(1) < node:"),
    # a byte of a JSON text
    Mutant("json/step/step.py", "if byte == 44 and array_continues(arena, f):", "if byte == 44:"),
    Mutant("json/step/step.py", "if c >> 5 & 63 == 0 and array_closes(arena, f):", "if array_closes(arena, f):"),
    Mutant("json/step/lexemes.py", "if count > most:", "if count > most + 1:"),
    Mutant(
        "json/step/lexemes.py",
        "if program[table + low * Key.LENGTH + Key.SIZE] != read:",
        "if program[table + low * Key.LENGTH + Key.SIZE] < read:",
    ),
    Mutant("json/step/key_step.py", "if is_other(arena, f, chain):", "if is_other(arena, f, int64(0)):"),
    Mutant("json/step/keys.py", "if spare <= 0:", "if spare < 0:"),
    Mutant("json/step/keys.py", "return gone >= counts[state]", "return gone > counts[state]"),
    Mutant(
        "json/step/keys.py",
        "if rank < frames[at + Frame.LAST] or rank > lowest:",
        "if rank < frames[at + Frame.LAST] or rank >= lowest:",
    ),
    Mutant("json/step/arrays.py", "return total + (least - position if every else int64(0))", "return total"),
    Mutant(
        "json/step/arrays.py",
        "if most >= 0 and count + must_count(program, row, position + 1, kind) > most:",
        "if False:",
    ),
    Mutant(
        "json/step/text.py",
        "if sub == HEX + 1 and 0xDC <= value <= 0xDF:",
        "if sub == HEX + 1 and 0xDD <= value <= 0xDF:",
    ),
    Mutant("json/step/text.py", "low, after = int64(0xA0), int64(LAST_1)", "low, after = int64(0x90), int64(LAST_1)"),
    Mutant("json/step/unique.py", "if is_other(arena, f, text):", "if False:"),
    Mutant(
        "json/rows/walk.py",
        "note_crossing(arena, which, node, y2, int64(AT_NODE))",
        "note_crossing(arena, which, node, y2, int64(BEFORE_NODE))",
    ),
]


def run(mutant: Mutant | None, tests: Sequence[str]) -> str:
    """CAUGHT or SURVIVED; without a mutant the unchanged sources are tried. Raises where the tests gave no answer."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name)
        ignored = shutil.ignore_patterns("__pycache__")
        for part in COPIED:
            shutil.copytree(ROOT / part, folder / part, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", folder)
        if mutant is not None:
            path = folder / KERNELS / mutant.file
            path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        environment = os.environ | {
            "PYTHONPATH": name,
            "GRAMMARLM_CACHE": str(folder / "cache"),
            "GRAMMARLM_KERNELS": "numba",
        }
        check_imports(folder, environment)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    if done.returncode not in (0, FAILED):
        raise RuntimeError(
            f"pytest ended with status {done.returncode}, neither passed nor failed:\n{done.stdout[-2000:]}"
        )
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if mutant is None and failures:
        raise RuntimeError(f"{failures[0]}: it fails on the unchanged sources, so it says nothing of a mutant")
    print("\n".join(failures), flush=True)
    return CAUGHT if done.returncode == FAILED else SURVIVED


def check_imports(folder: Path, environment: dict[str, str]) -> None:
    """Raises where the copy is not what the tests would import."""
    command = [sys.executable, "-c", "import grammarlm; print(grammarlm.__file__)"]
    found = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
    if not Path(found.strip()).resolve().is_relative_to(folder.resolve()):
        raise RuntimeError(f"the tests would import {found.strip()}, not the changed copy")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("numbers", nargs="*", help="which mutants to run, or all; none: list them")
    parser.add_argument("--tests", nargs="+", help="what to run against them (tests/kernels/ROOM)")
    chosen = parser.parse_args(arguments)
    if not chosen.numbers:
        for number, mutant in enumerate(MUTANTS):
            print(f"{number:4}  {mutant}")
        return 0
    survived = 0
    numbers = range(len(MUTANTS)) if chosen.numbers == ["all"] else map(int, chosen.numbers)
    sound: set[str] = set()
    for number in numbers:
        tests = chosen.tests or [f"tests/kernels/{MUTANTS[number].file.partition('/')[0]}"]
        if not sound.issuperset(tests):
            run(None, tests)
            sound.update(tests)
        verdict = run(MUTANTS[number], tests)
        print(f"{number:4}  {verdict}: {MUTANTS[number]}", flush=True)
        survived += verdict == SURVIVED
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
