"""The demo: constrained generations on the embedded model, token by token, and how long each part took.

A line is one token: its probability, how many tokens the grammar allowed there, how much of the model's probability the mask
removed, and the alternatives. On a terminal the lines appear as they are made, slowed down enough to read; elsewhere they are
printed. Each answer is checked by Python's own `re` and `json`, which share no code with us.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.vocab.names import token_name

if TYPE_CHECKING:
    from grammarlm.decoding.loop.loop import Decoding
    from grammarlm.decoding.loop.step import Step
    from grammarlm.decoding.result import Result, Stats
    from grammarlm.vocab.vocabulary import Vocabulary

WIDTH = 80
SEED = 3
PACE = 0.06  # seconds a token, on a terminal
ALTERNATIVES = 3
SHOWN_FROM = 0.0005  # the probability from which an alternative is shown
Times = list[tuple[str, float, str]]  # part, seconds, note


@dataclass(frozen=True)
class Example:
    """A prompt, its grammar, and an independent check of the answer."""

    title: str
    prompt: str
    grammar: Grammar
    kind: str
    shown_grammar: str
    is_right: Callable[[str], bool]
    temperature: float = 0.0


def by_regex(title: str, prompt: str, pattern: str, temperature: float = 0.0) -> Example:
    return Example(title, prompt, Regex(pattern), "regex", pattern, matches(pattern), temperature)


def by_choices(title: str, prompt: str, choices: list[str]) -> Example:
    return Example(title, prompt, Choices(choices), "choices", ", ".join(choices), lambda text: text in choices)


def matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "customer": {"type": "string", "pattern": "^[A-Z][a-z]{1,15} [A-Z][a-z]{1,15}$"},
        "item": {"type": "string", "pattern": "^[a-z ]+$", "maxLength": 24},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 999},
        "price": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.01},
        "paid": {"type": "boolean"},
    },
    "required": ["customer", "item", "quantity", "price", "paid"],
    "additionalProperties": False,
}


def is_order(text: str) -> bool:
    """ORDER in plain Python. Numbers are read as fractions: 24.95 is a multiple of 0.01, and 1e2 is an integer."""
    try:
        order = json.loads(text, parse_float=Fraction, parse_int=Fraction)
        return (
            sorted(order) == sorted(ORDER["required"])
            and re.fullmatch("[A-Z][a-z]{1,15} [A-Z][a-z]{1,15}", order["customer"]) is not None
            and re.fullmatch("[a-z ]{1,24}", order["item"]) is not None
            and type(order["quantity"]) is Fraction is type(order["price"])
            and order["quantity"] in range(1, 1000)
            and order["price"] > 0
            and (order["price"] * 100).denominator == 1
            and isinstance(order["paid"], bool)
        )
    except (ValueError, TypeError):  # no JSON, or no object with texts
        return False


WORD = "[a-df-z]{1,12}"
EXAMPLES = (
    by_regex(
        "a date",
        'The Harvest Fair takes place on 4 May 2031 at 18:30 in Kalden Hall.\n{"title":"Harvest Fair","date":"',
        "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    ),
    by_choices(
        "one of six functions",
        'Set a timer for 25 minutes.\n{"function":"',
        ["send_message", "set_alarm", "set_timer", "convert", "get_weather", "book_table"],
    ),
    Example(
        "a record under a JSON schema",
        "Astrid Novak ordered seven steel lamps at 24.95 euros each and has not paid.\n",
        JsonSchema(ORDER),
        "schema",
        json.dumps(ORDER),
        is_order,
    ),
    by_regex(
        "a sentence without the letter e, drawn at temperature 0.8",
        "It was a cold morning in Oslo. ",
        rf"[A-Z]{WORD} [A-Z]{WORD} had [0-9]{{1,3}}( {WORD}){{1,2}} and a {WORD} {WORD}\.",
        temperature=0.8,
    ),
)


def run(console: Console | None = None, load: Callable[[], tuple[Any, Any]] | None = None) -> int:
    """Shows the examples and the times; 1 where an answer does not match its grammar, else 0."""
    console = console or Console(highlight=False)
    console.width = min(WIDTH, console.width)
    times: Times = []
    with measured(times, "import torch and transformers"):
        import torch
        from transformers import LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: F401
    with measured(times, "import grammarlm"):
        from grammarlm.decoding.generate import start
        from grammarlm.models.tiny import load_tiny
    with measured(times, "load the model"):
        model, tokenizer = (load or load_tiny)()
    torch.set_num_threads(1)  # several threads would mostly wait for each other on a model this small
    runs = []
    for number, example in enumerate(EXAMPLES, 1):
        show_question(console, f"{number}  {example.title}", example)
        decoding = start(
            model,
            example.prompt,
            tokenizer=tokenizer,
            grammar=example.grammar,
            temperature=example.temperature,
            seed=SEED,
        )
        first_mask = show_steps(console, decoding)
        result = decoding.result()
        runs.append(Run(example.kind, result.stats, first_mask, example.is_right(result.text)))
        show_answer(console, result, runs[-1].is_right)
    show_times(console, times + times_of(runs))
    return 0 if all(run.is_right for run in runs) else 1


# ------------------------------------------------------------------ one generation


def show_question(console: Console, title: str, example: Example) -> None:
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="dim", characters="-")
    lines = labelled()
    lines.add_row("prompt", Text(example.prompt.rstrip("\n")))
    lines.add_row(example.kind, Text(example.shown_grammar, style="cyan", overflow="fold"))
    console.print(lines)
    console.print()


def labelled() -> Table:
    """A grid of labelled lines."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", min_width=7)
    grid.add_column(overflow="fold")
    return grid


def show_steps(console: Console, decoding: Decoding) -> float:
    """Prints a line for each token; returns how long the first mask took."""
    allowed = f"of {len(decoding.vocab.text_ids)}"
    header = Text(f"{'token':<15}{'probability':>11}{allowed:>10}{'removed':>9}   other choices", style="dim")
    first_mask, lines = 0.0, []
    live = Live(console=console, auto_refresh=False, vertical_overflow="visible") if console.is_terminal else None
    with live or nullcontext():
        if live is None:
            console.print(header)
        for step in decoding:
            first_mask = first_mask or decoding.stats.mask_seconds
            lines.append(line_of(step, decoding.vocab, console.width))
            if live is None:
                console.print(lines[-1])
            else:
                live.update(Group(header, *lines[-max(console.height - 3, 1) :]), refresh=True)
                sleep(PACE)
        if live is not None:
            live.update(Group(header, *lines), refresh=True)
    return first_mask


def line_of(step: Step, vocab: Vocabulary, width: int) -> Text:
    """The token, its probability, how many were allowed, the mass removed, and the best alternatives."""
    allowed = np.flatnonzero(step.logits > -np.inf)
    probability = np.exp(step.logits[allowed] - step.logits[allowed].max())
    probability /= probability.sum()
    chosen = float(probability[allowed == step.token][0])
    line = Text(f"{token_name(vocab, step.token, 14):<15}", style="bold")
    line.append(f"{chosen:>11.1%}{len(allowed):>10}", style="not bold")
    line.append(f"{step.mass_removed:>9.1%}", style="not bold yellow" if step.mass_removed >= 0.1 else "not bold")
    line.append("   ")
    for i in np.argsort(-probability, kind="stable")[: ALTERNATIVES + 1]:
        other = f"{token_name(vocab, int(allowed[i]), 14)} {probability[i]:.1%}  "
        if allowed[i] != step.token and probability[i] >= SHOWN_FROM and len(line) + len(other) <= width + 2:
            line.append(other, style="not bold dim")
    line.rstrip()
    return line


def show_answer(console: Console, result: Result, is_right: bool) -> None:
    stats = result.stats
    removed = sum(stats.mass_removed) / max(stats.tokens, 1)
    verdict = Text("matches" if is_right else "DOES NOT MATCH", style="green" if is_right else "bold red")
    cost = f", {counted(stats.tokens, 'token')}, {counted(stats.forwards, 'forward')}, {removed:.1%} of the probability removed"
    lines = labelled()
    lines.add_row("answer", Text(result.text, style="bold"))
    lines.add_row("", verdict.append(cost, style="dim"))
    console.print()
    console.print(lines)


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


# ------------------------------------------------------------------ times


@dataclass(frozen=True)
class Run:
    """The cost of one generation, and whether its answer was right."""

    kind: str
    stats: Stats
    first_mask: float
    is_right: bool


@contextmanager
def measured(times: Times, part: str) -> Iterator[None]:
    start = perf_counter()
    yield
    times.append((part, perf_counter() - start, ""))


def times_of(runs: list[Run]) -> Times:
    """The very first mask makes the first states and loads everything into caches, so it is not part of the mean of the others."""
    first, tokens = runs[0].first_mask, sum(run.stats.tokens for run in runs)
    masks = sum(run.stats.mask_seconds for run in runs) - first
    later = [("JSON schema" if run.kind == "schema" else run.kind, run.stats.compile_seconds) for run in runs[1:]]
    return [
        ("vocabulary and first grammar", runs[0].stats.compile_seconds, "with loading the kernels"),
        *((kind, seconds, "with loading the JSON kernel" if kind == "JSON schema" else "") for kind, seconds in later),
        ("first mask", first, ""),
        ("masks", masks / (tokens - 1), "a token"),
        ("model", sum(run.stats.model_seconds for run in runs) / tokens, "a token"),
        ("sampling", sum(run.stats.sampling_seconds for run in runs) / tokens, "a token"),
    ]


def show_times(console: Console, times: Times) -> None:
    console.print()
    console.rule(Text("how long each part took", style="bold"), align="left", style="dim", characters="-")
    for part, seconds, note in times:
        console.print(Text(f"{part:<32}{duration(seconds):>10}  ").append(note, style="dim"))


def duration(seconds: float) -> str:
    """Three significant digits, in s, ms or us."""
    for unit, scale in (("s ", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
