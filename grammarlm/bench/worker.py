"""The child process: reads cases from stdin, one line of JSON each, and answers each with a record.

    python -m grammarlm.bench.worker '{"task": "judge", "engine": "llguidance", "tokenizer": FOLDER, "options": {}, "memory": 1e9}'

Its first line reports that the task is ready: imports, and kernels compiled or loaded on first use, count for no case. What an
engine prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from .cases import BrokenCase, Case
from .record import Record
from .tasks import record_class, task_class


def main() -> int:
    settings = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    task = task_class(settings["task"])(settings)
    limit_memory(settings["memory"])
    answers.write('{"ready": true}\n')

    def step(record: Record) -> None:
        answers.write(json.dumps({"step": record.as_json()}) + "\n")

    for line in sys.stdin:
        case = Case(**json.loads(line))
        try:
            record = task.run(case, step)
        except BrokenCase as error:
            record = record_class(settings["task"])(case.name, broken=str(error)[:300])
        record.peak_bytes = peak_memory()
        answers.write(json.dumps(record.as_json()) + "\n")
    return 0


def end_with(parent: int) -> None:
    """Ends this process where its parent has been killed: a case that hangs has nobody left to stop it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def limit_memory(beyond: int) -> None:
    """Limits the address space to so many bytes beyond what is in use now; libraries reserve much that they never touch."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    try:
        with open("/proc/self/statm") as file:
            in_use = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (in_use + beyond, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def peak_memory() -> int:
    """Peak resident memory of the process, in bytes."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    sys.exit(main())
