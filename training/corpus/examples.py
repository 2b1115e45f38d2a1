"""One example: a task, its prompt, its answer, and the form that the answer has."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from training.corpus.calls import call, calls
from training.corpus.draw import Draw
from training.corpus.records import RECORDS, Record, drawn_record
from training.corpus.short import arithmetic, items, plain
from training.corpus.sql import sql
from training.corpus.turns import edit, next_call, repeat, to_json


@dataclass(frozen=True)
class Example:
    """One text: `prompt` is the input, `answer` what the model should write (empty for plain sentences)."""

    task: str
    form: str  # of the answer: a kind of record, or the task's name
    prompt: str
    answer: str


def of_record(make: Callable[[Draw, str], tuple[str, Record]], draw: Draw) -> tuple[str, str, str]:
    """A task about a record of some kind."""
    kind = draw.one(list(RECORDS))
    prompt, value = make(draw, kind)
    return kind, prompt, to_json(value)


def one_call(draw: Draw) -> tuple[str, str, str]:
    prompt, value = call(draw)
    return "call", prompt, to_json(value)


def several_calls(draw: Draw) -> tuple[str, str, str]:
    prompt, value = calls(draw)
    return "calls", prompt, to_json(value)


def agents_call(draw: Draw) -> tuple[str, str, str]:
    prompt, value = next_call(draw)
    return "call", prompt, to_json(value)


def listing(draw: Draw) -> tuple[str, str, str]:
    prompt, value = items(draw)
    return "list", prompt, to_json(value)


TASKS: dict[str, Callable[[Draw], tuple[str, str, str]]] = {
    "record": partial(of_record, drawn_record),
    "edit": partial(of_record, edit),
    "repeat": partial(of_record, repeat),
    "call": one_call,
    "calls": several_calls,
    "agent": agents_call,
    "sql": lambda draw: ("sql", *sql(draw)),
    "arithmetic": lambda draw: ("arithmetic", *arithmetic(draw)),
    "list": listing,
    "plain": lambda draw: ("plain", plain(draw), ""),
}
WEIGHTS = {
    "record": 40,
    "edit": 10,
    "repeat": 6,
    "call": 10,
    "calls": 6,
    "agent": 6,
    "sql": 12,
    "arithmetic": 4,
    "list": 4,
    "plain": 2,
}


def example(split: str, index: int, task: str | None = None) -> Example:
    """Example number `index` of a split; its task is drawn, too, unless given."""
    draw = Draw(split, f"{task}:{index}")
    task = task or draw.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    form, prompt, answer = TASKS[task](draw)
    return Example(task, form, prompt if task == "plain" else prompt + "\n", answer)
