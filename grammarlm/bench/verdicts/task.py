"""Judges the labelled instances of a schema with an engine, and takes the times of its masks."""

from __future__ import annotations

import json
from time import perf_counter_ns
from typing import Any

from grammarlm.bench.cases import Case
from grammarlm.bench.engine import Engine
from grammarlm.bench.engines import engine_class
from grammarlm.bench.tasks import Step
from grammarlm.bench.tokenizer import load_tokenizer

from .record import Verdicts

# Warm-up cases, which together use each mechanism once.
ORDINARY: list[tuple[Any, Any]] = [
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


class Judge:
    def __init__(self, settings: dict[str, Any]) -> None:
        self._tokenizer = load_tokenizer(settings["tokenizer"])
        self._engine: Engine = engine_class(settings["engine"])(self._tokenizer, **settings["options"])
        for schema, value in ORDINARY:
            self.run(
                Case("", content={"schema": schema, "tests": [{"data": value, "valid": True}]}), lambda record: None
            )

    def run(self, case: Case, step: Step) -> Verdicts:
        """All tests of a case in one record, and in one step."""
        engine, content = self._engine, case.load()
        tests = content.get("tests", [])
        record = Verdicts(case.name, tests=len(tests))
        engine.forget()
        try:
            if self._compile(content, record):
                for number, test in enumerate(tests):
                    text = json.dumps(test["data"], ensure_ascii=False)
                    tokens = self._tokenizer.encode(text, add_special_tokens=False)
                    verdict = accepts(engine, tokens, record.masks)
                    if verdict != test["valid"]:
                        (record.wrongly_accepts if verdict else record.wrongly_rejects).append(number)
                record.nbytes = engine.nbytes()
        except Exception as error:
            record.crash = f"{type(error).__name__}: {error}"[:300]
        return record

    def _compile(self, content: dict[str, Any], record: Verdicts) -> bool:
        start = perf_counter_ns()
        engine = self._engine
        try:
            engine.compile(content["schema"])
            engine.reset()
            engine.mask()
        except MemoryError:
            raise
        except engine.refusals as error:
            record.refuse(error, engine, [test["valid"] for test in content.get("tests", [])])
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
