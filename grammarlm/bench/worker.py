"""The child process: reads cases from stdin, one line of JSON each, and answers each with a record.

    python -m grammarlm.bench.worker '{"engine": "llguidance", "tokenizer": FOLDER, "options": {}, "memory": BYTES}'

Its first line reports that the engine is ready: imports, and kernels compiled or loaded on first use, count for no case. What an
engine prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from time import perf_counter_ns
from typing import Any

from .cases import BrokenCase, Case
from .engines import Engine, engine_class
from .record import Record
from .tokenizer import load_tokenizer

# Warm-up cases, which together use each mechanism once.
_ORDINARY: list[tuple[Any, Any]] = [
    (
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 20},
                "size": {"type": "number", "minimum": 0, "multipleOf": 0.5},
                "tags": {"type": "array", "items": {"enum": ["red", "green", 7]}, "minItems": 1, "uniqueItems": True},
            },
            "required": ["name"],
        },
        {"name": "Zoë", "size": 1.5, "tags": ["red", 7]},
    ),
    ({"anyOf": [{"type": "string", "pattern": "^[a-f]{3}$"}, {"type": "string", "format": "date"}]}, "2024-02-29"),
    ({"oneOf": [{"type": "integer", "maximum": 12}, {"type": "array", "contains": {"type": "null"}}]}, [1, None]),
    (
        {"not": {"required": ["x"]}, "patternProperties": {"^y": {"type": "boolean"}}, "maxProperties": 3},
        {"y1": True, "z": {}},
    ),
]


def main() -> int:
    settings = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    tokenizer = load_tokenizer(settings["tokenizer"])
    engine = engine_class(settings["engine"])(tokenizer, **settings["options"])
    for schema, value in _ORDINARY:
        run(engine, tokenizer, Case("", content={"schema": schema, "tests": [{"data": value, "valid": True}]}))
    limit_memory(settings["memory"])
    answers.write('{"ready": true}\n')
    for line in sys.stdin:
        try:
            answer = run(engine, tokenizer, Case(**json.loads(line))).as_json()
        except BrokenCase as error:
            answer = {"broken": str(error)}
        answers.write(json.dumps(answer) + "\n")
    return 0


def run(engine: Engine, tokenizer: Any, case: Case) -> Record:
    """Runs all tests of a case into one record."""
    content = case.load()
    tests = content.get("tests", [])
    record = Record(case.name, len(tests))
    engine.forget()
    try:
        if _compile(engine, content, record):
            for number, test in enumerate(tests):
                text = json.dumps(test["data"], ensure_ascii=False)
                verdict = accepts(engine, tokenizer.encode(text, add_special_tokens=False), record.masks)
                if verdict != test["valid"]:
                    (record.wrongly_accepts if verdict else record.wrongly_rejects).append(number)
            record.nbytes = engine.nbytes()
    except Exception as error:
        record.crash = f"{type(error).__name__}: {error}"[:300]
    record.peak_bytes = peak_memory()
    return record


def _compile(engine: Engine, content: dict[str, Any], record: Record) -> bool:
    start = perf_counter_ns()
    try:
        engine.compile(content["schema"])
        engine.reset()
        engine.mask()
    except MemoryError:
        raise
    except engine.refusals as error:
        valid = [test["valid"] for test in content.get("tests", [])]
        record.is_unsatisfiable = (
            isinstance(error, getattr(engine, "unsatisfiable", ())) and bool(valid) and not any(valid)
        )
        if not record.is_unsatisfiable:
            record.refused = f"{type(error).__name__}: {error}"[:300]
        return False
    record.first_mask = (perf_counter_ns() - start) / 1e3
    return True


def accepts(engine: Engine, tokens: list[int], times: list[float]) -> bool:
    """The verdict on a whole instance, its end included."""
    engine.reset()
    for token in tokens:
        start = perf_counter_ns()
        engine.mask()
        taken = engine.commit(token)
        times.append((perf_counter_ns() - start) / 1e3)
        if not taken:
            return False
    return engine.can_stop()


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
