"""The parent process: runs one engine over all cases in a child process, restarted after a timeout or a crash; each record goes to
a file.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .cases import BrokenCase, Case
from .record import Record

START_LIMIT = 300.0  # seconds for imports, and kernels that are compiled on first use
MEMORY = 2 << 30


@dataclass(frozen=True)
class Run:
    """A row of the table: an engine with its options, on a tokenizer."""

    name: str
    engine: str
    options: dict[str, Any]
    tokenizer: str
    limit: float = 10.0  # seconds a case
    memory: int = MEMORY

    def settings(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in ("engine", "options", "tokenizer", "memory")}


class EngineDidNotStart(ValueError):
    """The child process ended, or hung, before its first case."""


class Child:
    """The child process of an engine, and its output."""

    def __init__(self, run: Run):
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open for the lifetime of the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grammarlm.bench.worker", json.dumps(run.settings())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },  # the child imports the same package
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if self._answer(START_LIMIT) is None:
            self.stop()
            raise EngineDidNotStart(f"{run.name}: the engine does not start: {self._last_words()}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")  # the process has ended

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """The next line, or None where the process has ended; queue.Empty after a timeout."""
        line = self._lines.get(timeout=seconds)
        return json.loads(line) if line.endswith(b"\n") else None

    def judge(self, case: Case, limit: float) -> Record:
        """The engine's record of a case; `is_alive` says whether the child can take another one."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asdict(case)).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._answer(limit)
        except queue.Empty:
            self.stop()
            return Record(case.name, case.count(), timeout=True)
        except BrokenPipeError:
            answer = None
        if answer is None:
            self._process.wait()
            return Record(
                case.name, case.count(), crash=f"{ended(self._process.returncode)}: {self._last_words()}"[:300]
            )
        if "broken" in answer:
            raise BrokenCase(answer["broken"])
        return Record.from_json(answer)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return " / ".join(lines[-3:])[-250:] or "it said nothing"


def ended(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"the process ended with {code}"
    return f"the process was killed by {signal.Signals(-code).name}"


def drive(run: Run, cases: Iterable[Case]) -> Iterator[Record]:
    """The records of the cases, in order."""
    child: Child | None = None
    try:
        for case in cases:
            if child is None or not child.is_alive:
                child = Child(run)
            yield child.judge(case, run.limit)
    finally:
        if child is not None:
            child.stop()


class Results:
    """The records of a run in a file: a line about the run, then one a case, each written as soon as it is known."""

    def __init__(self, path: Path, about: dict[str, Any], resume: bool):
        self.path = path
        self.records: dict[str, Record] = {}
        if resume and path.exists():
            self._read(about)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(about) + "\n")

    def _read(self, about: dict[str, Any]) -> None:
        text = self.path.read_text()
        lines = text.splitlines()
        if not lines or lines[0] != json.dumps(about):
            raise ValueError(
                f"{self.path} is {'of another run' if lines else 'empty'}; leave out --resume, or name another --out"
            )
        whole = [line for line in lines[1:] if line.endswith("}")]
        for line in whole:
            record = Record.from_json(json.loads(line))
            self.records[record.case] = record
        if not text.endswith("\n"):  # the last line is truncated: the run was interrupted
            self.path.write_text("\n".join([lines[0], *whole]) + "\n")

    def complete(self, run: Run, cases: list[Case], tell: Callable[[Record], None]) -> list[Record]:
        """All records in the order of the cases; missing ones are measured."""
        missing = [case for case in cases if case.name not in self.records]
        with self.path.open("a", buffering=1) as file:
            for record in drive(run, missing):
                file.write(json.dumps(record.as_json()) + "\n")
                self.records[record.case] = record
                tell(record)
        return [self.records[case.name] for case in cases]
