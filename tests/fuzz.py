"""A fuzzer of the whole engine, guided by coverage of grammarlm's Python code.

    python -m tests.fuzz --seconds 60 [--seed 1] [--findings FOLDER] [--kind Lark]      make fuzz SECONDS=60
    python -m tests.fuzz --replay FOLDER/NAME.json                                      one finding again, in this process

An input is a grammar (a kind, a text, perhaps others beside it, options), limits, and numbers that drive a walk: compile,
fill_mask, advance, advance_bytes, rollback, fork, snapshot, from_bytes, integers of no token. Inputs grow out of the corpora of the
tests by mutation of their pieces; one that reaches an edge between two lines of grammarlm that none has reached before is kept and
mutated in its turn.

The child does the work and writes down each input before it runs it; the parent watches. A crash, a call beyond its time, memory
beyond 1 GB, an exception that is no GrammarError and a broken invariant (fuzz_walk.py) are findings: kept in a folder, cut down a
little, and printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time
from typing import Any

from tests.fuzz_inputs import KINDS, Input, mutated, seeds, smaller
from tests.fuzz_walk import EXTRA_SECONDS, Coverage, Walker, signature

ROOT = pathlib.Path(__file__).parent.parent
MEMORY = 1 << 30
LONGEST = 20.0  # seconds for one input, all its calls together
TRACED = 8  # of so many inputs one counts its edges: that takes twenty times as long
CUTTING = 15.0  # seconds spent on making one finding smaller


def folder_for(arguments: argparse.Namespace) -> pathlib.Path:
    folder = pathlib.Path(arguments.findings)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# The child


def work(arguments: argparse.Namespace) -> None:
    """Runs inputs until it is told to stop, and says what it found: one line of JSON each."""
    rng = random.Random(arguments.seed)
    folder, walker, coverage = folder_for(arguments), Walker(), Coverage()
    say(ready=True)
    first = [each for each in seeds() if arguments.kind in (None, each.kind)]
    rng.shuffle(first)
    corpus = list(first)
    seen: set[str] = set()
    for number in range(sys.maxsize):
        is_traced = number % TRACED == 0
        chosen = first.pop() if first and is_traced else mutated(rng.choice(corpus), corpus, rng)
        write(folder / "current.json", chosen)
        finding = None
        with coverage if is_traced else contextlib.nullcontext():
            try:
                walker.run(chosen)
            except Exception as error:
                finding = signature(error)
        if finding is not None and finding not in seen:
            seen.add(finding)
            say(finding=finding, input=chosen.as_json())
        if is_traced and coverage.is_new():
            corpus.append(chosen)
        if number % 50 == 0:
            say(inputs=number + 1, kept=len(corpus), edges=coverage.count, refused=walker.refused, steps=walker.steps)


def write(path: pathlib.Path, chosen: Input) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(chosen.as_json()))
    beside.replace(path)


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


# The parent


class Supervisor:
    """Starts the child, again and again, watches its time and its memory, keeps what it found."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments, self.folder = arguments, folder_for(arguments)
        self.findings: dict[str, dict[str, Any]] = {}
        self.totals = {"inputs": 0, "steps": 0, "edges": 0}

    def run(self) -> None:
        until = time.monotonic() + self.arguments.seconds
        runs = 0
        while (left := until - time.monotonic()) > 0:
            self.run_child(left, self.arguments.seed + runs)
            runs += 1
        for name, finding in self.findings.items():
            self.cut(name, finding)

    def run_child(self, seconds: float, seed: int) -> None:
        current, lines = self.folder / "current.json", self.folder / "child.jsonl"
        current.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.fuzz", "--work", "--seed", str(seed), "--findings", str(self.folder)]
        command += ["--kind", self.arguments.kind] if self.arguments.kind else []
        until, why = time.monotonic() + seconds, None
        with lines.open("w") as out, (self.folder / "child.stderr").open("w") as errors:
            child = subprocess.Popen(command, stdout=out, stderr=errors, cwd=ROOT)
            while child.poll() is None and why is None:
                time.sleep(0.1)
                why = self.trouble(child.pid, current)
                if current.exists() and time.monotonic() > until:
                    why = "over"
            child.kill()
            status = child.wait()
        latest = {"inputs": 0, "steps": 0, "edges": 0}
        for line in lines.read_text().split("\n")[:-1]:  # what comes after the last line end was cut off with the child
            facts = json.loads(line)
            if "finding" in facts:
                self.keep(facts["finding"], facts["input"])
            elif "inputs" in facts:
                latest = facts
        for name in ("inputs", "steps"):
            self.totals[name] += latest[name]
        self.totals["edges"] = max(self.totals["edges"], latest["edges"])
        if why != "over":
            stderr = (self.folder / "child.stderr").read_text()[-800:]
            assert current.exists(), f"the child ended with {status} before its first input: {stderr}"
            self.keep(why or f"crash: the process ended with {status}: {stderr}", json.loads(current.read_text()))

    def trouble(self, pid: int, current: pathlib.Path) -> str | None:
        try:
            resident = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
            age = time.time() - current.stat().st_mtime
        except (OSError, IndexError):
            return None
        if resident > MEMORY + (1 << 29):  # half of it is numba and the vocabularies
            return f"memory: {resident >> 20} MB"
        return f"hang: {age:.0f} s for one input" if age > LONGEST else None

    def keep(self, name: str, found: dict[str, Any]) -> None:
        if name in self.findings:
            return
        self.findings[name] = found
        path = self.folder / f"finding-{len(self.findings)}.json"
        path.write_text(json.dumps({"finding": name, "input": found}, indent=1))
        print(f"FOUND {name}\n  kept in {path}", flush=True)

    def cut(self, name: str, found: dict[str, Any]) -> None:
        """A smaller input with the same finding, tried in processes of their own; then prints it."""
        best, until = Input.from_json(found), time.monotonic() + CUTTING
        rng = random.Random(0)
        if not name.startswith(("hang", "memory")):
            attempts = smaller(best, rng)
            while time.monotonic() < until and (attempt := next(attempts, None)):
                if self.repeats(attempt, name):
                    best, attempts = attempt, smaller(attempt, rng)
        print(f"\n{name}\n  {json.dumps(best.as_json())[:1500]}")
        number = list(self.findings).index(name) + 1
        text = json.dumps({"finding": name, "input": best.as_json()}, indent=1)
        (self.folder / f"finding-{number}-smaller.json").write_text(text)

    def repeats(self, attempt: Input, name: str) -> bool:
        path = self.folder / "attempt.json"
        path.write_text(json.dumps({"finding": name, "input": attempt.as_json()}))
        command = [sys.executable, "-m", "tests.fuzz", "--replay", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, cwd=ROOT, check=False)
        except subprocess.TimeoutExpired:
            return False
        return name in done.stdout or (name.startswith("crash") and done.returncode < 0)


def replay(path: str) -> None:
    """Runs one kept input and prints what comes of it."""
    chosen = Input.from_json(json.loads(pathlib.Path(path).read_text())["input"])
    kinds = {chosen.kind, *(kind for _, kind, _ in chosen.beside)}
    try:
        Walker(has_schemas=not kinds.isdisjoint({"JsonSchema", "Schema", "Parts"})).run(chosen)
    except Exception as error:
        print(signature(error))
        if sys.stdout.isatty():
            raise
    else:
        print("nothing is wrong")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--findings", default="/tmp/grammarlm-fuzz")
    parser.add_argument("--replay", help="a kept finding")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.replay:
        replay(arguments.replay)
        return 0
    if arguments.work:
        work(arguments)
        return 0
    supervisor = Supervisor(arguments)
    supervisor.run()
    totals = ", ".join(f"{count:,} {name}" for name, count in supervisor.totals.items())
    print(f"\n{totals}; {len(supervisor.findings)} findings; calls may take {EXTRA_SECONDS:g} s beyond their limit")
    return 1 if supervisor.findings else 0


if __name__ == "__main__":
    sys.exit(main())
