"""The parent process: runs one engine over all cases in child processes, restarted after a timeout or a crash; each record goes
to a file.
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
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .cases import Case
from .record import Record
from .tasks import record_class

START_LIMIT = 300.0  # seconds for imports, and kernels that are compiled on first use
MEMORY = 2 << 30
# An interruption from the keyboard reaches the parent alone. A group of processes and no session, where Python can: Linux shares
# cores out between sessions, and a child that waits for a server's stream was woken when the stream was over.
APART: dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}


@dataclass(frozen=True)
class Run:
    """A row of the table: an engine with its options, on a tokenizer."""

    name: str
    engine: str
    options: dict[str, Any]
    tokenizer: str
    limit: float = 10.0  # seconds a case, or a step of it
    memory: int = MEMORY
    task: str = "judge"

    def settings(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in ("task", "engine", "options", "tokenizer", "memory")}


class EngineDidNotStart(ValueError):
    """The child process ended, or hung, before its first case."""


class Child:
    """A child process, and its output."""

    def __init__(self, run: Run):
        self._record = record_class(run.task)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open for the lifetime of the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grammarlm.bench.worker", json.dumps(run.settings())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            **APART,
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

    def run(self, case: Case, limit: float) -> Record:
        """The record of a case, or what was known of it when its next step took longer than `limit`, or its process died;
        `is_alive` says whether the child can take another one.
        """
        assert self._process.stdin is not None
        known = None
        try:
            self._process.stdin.write(json.dumps(asdict(case)).encode() + b"\n")
            self._process.stdin.flush()
            while (answer := self._answer(limit)) is not None and "step" in answer:
                known = self._record.from_json(answer["step"])
        except queue.Empty:
            self.stop()
            record = known or self._record.unanswered(case)
            record.timeout = True
            return record
        except BrokenPipeError:
            answer = None
        if answer is None:
            self._process.wait()
            record = known or self._record.unanswered(case)
            record.crash = f"{ended(self._process.returncode)}: {self._last_words()}"[:300]
            return record
        return self._record.from_json(answer)

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


class Worker:
    """A child process that is replaced where it has ended."""

    def __init__(self, run: Run):
        self._run = run
        self._child: Child | None = None

    def run(self, case: Case, limit: float | None = None) -> Record:
        if self._child is None or not self._child.is_alive:
            self._child = Child(self._run)
        return self._child.run(case, limit or self._run.limit)

    def close(self) -> None:
        if self._child is not None:
            self._child.stop()


Finish = Callable[[Case, Record], Record]  # what is done to a record before it is written


class Results:
    """The records of a run in a file: a line about the run, then one a case, each written as soon as it is known."""

    def __init__(self, path: Path, about: dict[str, Any], resume: bool, record: type[Record]):
        self.path, self._record = path, record
        self.records: dict[str, Record] = {}
        if resume and path.exists() and b"\n" in path.read_bytes():
            self._read(about)
        else:  # also where an earlier run was killed before it had written its first line
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(about) + "\n")

    def _read(self, about: dict[str, Any]) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].decode().splitlines()
        if lines[0] != json.dumps(about):
            raise ValueError(f"{self.path} is of another run; leave out --resume, or name another --out")
        if whole < len(content):  # the last line is truncated: the run was interrupted
            os.truncate(self.path, whole)
        for line in lines[1:]:
            record = self._record.from_json(json.loads(line))
            self.records[record.case] = record

    def complete(
        self,
        run: Run,
        cases: list[Case],
        tell: Callable[[Record], None],
        jobs: int = 1,
        finisher: Callable[[], AbstractContextManager[Finish]] | None = None,
    ) -> list[Record]:
        """All records in the order of the cases; missing ones are measured by `jobs` child processes."""
        missing = [case for case in cases if case.name not in self.records]
        waiting, lock, stopped = deque(missing), threading.Lock(), threading.Event()

        def work(worker: Worker) -> None:
            with finisher() if finisher else nullcontext(_unchanged) as finish:
                while waiting:
                    try:
                        case = waiting.popleft()
                    except IndexError:  # another job took the last one
                        return
                    record = finish(case, worker.run(case))
                    with lock:
                        if stopped.is_set():  # its process may have been stopped under it
                            return
                        file.write(json.dumps(record.as_json()) + "\n")
                        self.records[record.case] = record
                        tell(record)

        workers = [Worker(run) for _ in range(min(jobs, len(missing)))]
        with self.path.open("a", buffering=1) as file, ThreadPoolExecutor(jobs) as pool:
            try:
                for job in as_completed([pool.submit(work, worker) for worker in workers]):
                    job.result()
            finally:  # the end, an error of a job, or the user's interruption
                with lock:
                    stopped.set()
                    waiting.clear()
                for worker in workers:
                    worker.close()
        return [self.records[case.name] for case in cases]


def _unchanged(case: Case, record: Record) -> Record:
    return record
