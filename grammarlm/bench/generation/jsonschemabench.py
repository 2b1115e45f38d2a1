"""`grammarlm bench jsonschemabench DIR`: texts generated under each schema by every engine, and what they are worth."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from grammarlm.bench import cases
from grammarlm.bench.cases import BrokenCase, Case
from grammarlm.bench.comparison import Comparison, runs_of
from grammarlm.bench.driver import Finish, Run, Worker
from grammarlm.bench.engines import GENERATING, engine_class
from grammarlm.bench.record import Record
from grammarlm.bench.tokenizer import find_tokenizer, load_tokenizer

from .prompts import encoded, examples, examples_of
from .record import Generated
from .report import tell
from .task import SCRIPTED
from .validation import Validated

VALIDATION_LIMIT = 20.0  # seconds for the outputs of a schema
GRACE = 3.0  # seconds that a child has to notice a limit itself
ANSWER = 256  # tokens that an answer may need, at least: a prompt that leaves less does not fit

NOTES = (
    "Declared: the engine took the schema within the limit, or rightly refused it as one that nothing satisfies. Empirical: all "
    "outputs for it ended by themselves and are valid. Compliance: empirical, of the declared. All schemas are the denominator: "
    "refused, cut and crashed ones count as failures; the valid ones of the finished stand beside.",
    "Validity: json.loads, then jsonschema under the draft that the schema names, formats asserted, without network. By the "
    "reference: the same outputs as JSONSchemaBench's own code judges them, under draft 2020-12 whatever the schema names; one "
    "that is no schema of that draft, or asserts ipv4, ipv6 or uuid, makes every output invalid.",
    "Times per schema; an interval is the 95 % bootstrap of the median. Compile: the schema alone, kernels and tables of the "
    "tokenizer loaded before. First token: compile, prompt, mask and draw. Per output token: all later ones, the model included.",
    "grammarlm closes: a text of at most so many tokens comes to its end within them. Without that it is a row of its own.",
)
SCRIPT_NOTES = (
    "The scripted model prefers the next token of a labelled instance (90 %, the rest is noise), greedily: a valid instance is "
    "reproduced unless the engine forbids one of its tokens (over-constrained); an invalid one must not come out "
    "(under-constrained; it may be cut). The model's own time is in none of the times.",
    "Reproduced: the same value, properties in any order; exact: the same text. Fields: of the instance's and the output's "
    "together, those that are the same; an empty object earns nothing.",
)


@dataclass
class Plan:
    """What is run on which schemas."""

    cases: list[Case]
    passed_over: int
    runs: list[Run]
    absent: dict[str, str]
    notes: tuple[str, ...]


def run(options: argparse.Namespace) -> int:
    is_scripted = options.model == SCRIPTED
    tokenizer = options.tokenizer or ("tiny" if is_scripted else options.model)
    if tokenizer != "tiny":
        find_tokenizer(tokenizer)
    every, generation = asked(options, 0 if is_scripted else options.shots)
    plan = by_engines(options, every, generation, tokenizer)
    return told(options, every, plan, SCRIPT_NOTES if is_scripted else ())


def asked(options: argparse.Namespace, shots: int) -> tuple[list[Case], dict[str, Any]]:
    """All schemas of the folder, and how texts are written for them."""
    every = cases.jsonschemabench(Path(options.folder), split=options.split and Path(options.split))
    return every, {
        "model": options.model,
        "temperature": options.temperature,
        "samples": options.samples,
        "most": options.max_tokens,
        "limit": options.limit,
        "seed": options.seed,
        "shots": shots,
        "examples": examples_of(every, shots) if shots else {},
    }


def told(options: argparse.Namespace, every: list[Case], plan: Plan, more: tuple[str, ...] = ()) -> int:
    """Carries the plan out, and writes and prints the report."""
    about = {"data": str(Path(options.folder).resolve()), "sample": options.sample, "split": options.split}
    too_long = f"Not taken, as the prompt leaves too little room: {plan.passed_over:,}."
    notes = (*NOTES, *more, *plan.notes, too_long)
    title = f"JSONSchemaBench, {len(plan.cases):,} of {len(every):,} schemas, model: {Path(options.model).name}"
    limit = f"{options.limit:g} s to compile, and again for each text"
    out = Path(options.out)
    comparison = Comparison(title, plan.runs, out, options.resume, options.jobs, about, notes, plan.absent, limit=limit)
    records = comparison.measure(plan.cases, Console(stderr=True), validating)
    print(tell(comparison, records))
    return 0


def by_engines(options: argparse.Namespace, every: list[Case], generation: dict[str, Any], tokenizer: str) -> Plan:
    room = () if generation["model"] == SCRIPTED else room_of(tokenizer, generation)
    found, passed_over = chosen(every, options.sample, *room)
    runs, absent = runs_of(options.engines, tokenizer, options.limit + GRACE, catalogue=GENERATING, task="generate")
    runs = [dataclasses.replace(run, options={**run.options, "generation": generation}) for run in runs]
    notes = dict.fromkeys(note for run in runs if (note := getattr(engine_class(run.engine), "note", "")))
    return Plan(found, passed_over, runs, absent, tuple(notes))


Length = Callable[[Case, Any], int | None]  # of a case's prompt under its schema, in tokens; None: nobody knows


def chosen(
    every: list[Case], sample: int | None, most: int | None = None, length: Length | None = None
) -> tuple[list[Case], int]:
    """The first `sample` cases whose prompts have at most `most` tokens, and how many were passed over."""
    if most is None or length is None:
        return every[:sample], 0
    found: list[Case] = []
    for seen, case in enumerate(every):
        if len(found) == sample:
            return found, seen - len(found)
        try:
            tokens = length(case, case.load()["schema"])
        except BrokenCase:
            tokens = None
        if tokens is None or tokens <= most:
            found.append(case)
    return found, len(every) - len(found)


def room_of(name: str, generation: dict[str, Any]) -> tuple[int | None, Length]:
    """The tokens that a prompt may have in the model's context, and how they are counted."""
    context, tokenizer = context_of(generation["model"]), load_tokenizer(name)
    return None if context is None else context - ANSWER, lambda case, schema: len(
        encoded(tokenizer, schema, examples(generation, case, schema))
    )


def context_of(model: str) -> int | None:
    from transformers import AutoConfig

    from grammarlm.models.tiny import FOLDER

    config = AutoConfig.from_pretrained(FOLDER if model == "tiny" else model, local_files_only=True)
    return getattr(config, "max_position_embeddings", None)


@contextmanager
def validating() -> Iterator[Finish]:
    """Adds the verdicts to a record's outputs, by a child process of its own: jsonschema may hang where the schema is hostile."""
    with closing(Worker(Run("jsonschema", "", {}, "", VALIDATION_LIMIT, task="validate"))) as worker:

        def finish(case: Case, record: Record) -> Record:
            assert isinstance(record, Generated)
            finished = [output for output in record.outputs if output.is_finished]
            if finished:
                judged = verdicts(worker, case, [output.text for output in finished])
                for output, (verdict, by_reference) in zip(finished, judged, strict=True):
                    output.verdict, output.by_reference = verdict, by_reference
            return record

        yield finish


def verdicts(worker: Worker, case: Case, texts: list[str]) -> list[tuple[str, bool]]:
    found = worker.run(dataclasses.replace(case, texts=texts))
    assert isinstance(found, Validated)
    if len(found.verdicts) == len(texts):
        return list(zip(found.verdicts, found.by_reference, strict=True))
    if len(texts) == 1:
        return [(f"cannot be judged: {found.wrong()}", False)]
    return [verdicts(worker, case, [text])[0] for text in texts]  # one of them is to blame
