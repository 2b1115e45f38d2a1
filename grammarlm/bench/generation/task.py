"""A child's task: generates texts for a schema, token by token, with the same model and the same loop for every engine."""

from __future__ import annotations

import json
import zlib
from time import perf_counter_ns
from typing import Any

from grammarlm.bench.cases import Case
from grammarlm.bench.engine import Engine
from grammarlm.bench.engines import engine_class
from grammarlm.bench.tasks import Step
from grammarlm.bench.tokenizer import load_tokenizer
from grammarlm.bench.verdicts.task import ORDINARY

from .models import Model, TransformersModel
from .prompts import encoded, examples
from .record import LENGTH, STOP, TIME, Generated, Output
from .scripted import ScriptedModel

SCRIPTED = "scripted"


class Generate:
    """Options beside the engine's own: `model`, `temperature`, `samples`, `most` (tokens), `limit` (seconds to compile, and again
    for each text), `seed`, and `examples` of each data set.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        options = dict(settings["options"])
        self._options = options.pop("generation")
        self._tokenizer = load_tokenizer(settings["tokenizer"])
        self._engine: Engine = engine_class(settings["engine"])(self._tokenizer, **options)
        self._stops = stop_ids(self._tokenizer)
        name, temperature = self._options["model"], self._options["temperature"]
        self._is_scripted = name == SCRIPTED
        self._model: Model = (
            ScriptedModel(self._tokenizer, self._stops, temperature)
            if self._is_scripted
            else TransformersModel(name, temperature)
        )
        for schema, value in ORDINARY:
            self.run(
                Case("", content={"schema": schema, "tests": [{"data": value, "valid": True}]}), lambda record: None
            )

    def run(self, case: Case, step: Step) -> Generated:
        content = case.load()
        record = Generated(case.name, data_set=case.data_set)
        self._engine.forget()
        try:
            if self._compile(content, record):
                step(record)
                for answer, instance in self._answers(content):
                    output = self._text(case, content["schema"], answer, len(record.outputs))
                    output.instance = instance
                    if answer is not None and instance is not None:
                        compare(output, content["tests"][instance], answer)
                    record.outputs.append(output)
                    step(record)
                record.nbytes = self._engine.nbytes()
        except Exception as error:
            record.crash = f"{type(error).__name__}: {error}"[:300]
        return record

    def _answers(self, content: dict[str, Any]) -> list[tuple[str | None, int | None]]:
        """What a scripted model has to write, one text for each labelled instance; for others `samples` texts."""
        if not self._is_scripted:
            return [(None, None)] * self._options["samples"]
        tests = content.get("tests", [])
        return [(json.dumps(test["data"], ensure_ascii=False), number) for number, test in enumerate(tests)]

    def _compile(self, content: dict[str, Any], record: Generated) -> bool:
        start = perf_counter_ns()
        try:
            self._engine.compile(content["schema"])
        except MemoryError:
            raise
        except self._engine.refusals as error:
            record.refuse(error, self._engine, [test["valid"] for test in content.get("tests", [])])
            return False
        took = perf_counter_ns() - start
        record.timeout = took > self._options["limit"] * 1e9
        if not record.timeout:
            record.compile_time = took / 1e3
        return not record.timeout

    def _text(self, case: Case, schema: Any, answer: str | None, number: int) -> Output:
        """One text: as long as the model does not stop, and at most `most` tokens; the script's length and half as many more where
        that is longer.
        """
        engine, model, most = self._engine, self._model, self._options["most"]
        script = None if answer is None else self._tokenizer.encode(answer, add_special_tokens=False)
        prompt = [] if self._is_scripted else encoded(self._tokenizer, schema, examples(self._options, case, schema))
        if script is not None:
            most = max(most, len(script) * 3 // 2)
        elif model.context:
            most = min(most, model.context - len(prompt))
        tokens: list[int] = []
        ended, free = LENGTH, 0  # free: nanoseconds of a scripted model, which are nobody's
        begin = first = perf_counter_ns()
        until = begin + int(self._options["limit"] * 1e9)
        try:
            engine.reset(most)
        except ValueError:  # no text is as short
            return Output("", 0, LENGTH, 0.0, 0.0)
        model.start(prompt, [self._options["seed"], zlib.crc32(case.name.encode()), number], script)
        while True:
            engine.mask()
            asked = perf_counter_ns()
            token = model.choose(engine.words())
            free += self._is_scripted * (perf_counter_ns() - asked)
            if token in self._stops:
                ended = STOP
                break
            if len(tokens) == most:  # only a stop was still possible
                break
            if not engine.commit(token):
                raise AssertionError(f"the mask allows token {token}, and the engine refuses it")
            tokens.append(token)
            taken = perf_counter_ns()
            if len(tokens) == 1:
                first = taken - free
            if taken > until:
                ended = TIME
                break
            model.read(token)
            free += self._is_scripted * (perf_counter_ns() - taken)
        later = perf_counter_ns() - free - first
        text = self._tokenizer.decode(tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return Output(text, len(tokens), ended, (first - begin) / 1e3, later / 1e3)


def stop_ids(tokenizer: Any) -> list[int]:
    if tokenizer.eos_token_id is None:
        raise ValueError(
            "--tokenizer: it names no eos_token, so that no text could end; add it to tokenizer_config.json"
        )
    return [int(tokenizer.eos_token_id)]


def compare(output: Output, test: dict[str, Any], answer: str) -> None:
    """Notes how the output of a scripted model relates to the instance that it was to write."""
    output.label = test["valid"]
    output.is_exact = output.text == answer
    try:
        value = json.loads(output.text)
    except (ValueError, RecursionError):
        return
    ours, theirs = leaves(value), leaves(test["data"])
    output.is_equal = ours == theirs
    output.fields = len(ours & theirs) / max(len(ours | theirs), 1)


def leaves(value: Any, path: str = "") -> set[tuple[str, str]]:
    """Each scalar and each empty container, with the path to it: equal sets mean equal values."""
    found, waiting = set(), [(path, value)]
    while waiting:
        at, part = waiting.pop()
        if isinstance(part, dict) and part:
            waiting += [(f"{at}/{json.dumps(key)}", each) for key, each in part.items()]
        elif isinstance(part, list) and part:
            waiting += [(f"{at}[{number}]", each) for number, each in enumerate(part)]
        else:
            found.add((at, json.dumps(part)))
    return found
