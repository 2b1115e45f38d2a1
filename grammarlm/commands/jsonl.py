"""`grammarlm generate --jsonl`: a line for each prompt in, a line for each answer out.

    {"prompt": "Ada, 36.\\n", "id": "a7", "schema": {"type": "object"}}
    {"messages": [{"role": "user", "content": "Ada, 36."}], "id": "a8"}
    {"line": 1, "id": "a7", "text": "{...}", "value": {...}, "finish_reason": "stop", "tokens": 12, "of": "9f0c..."}

A line may have a schema, regex or choices of its own, instead of the command's. An error in a line is reported in its answer
(`error`); the others are still answered. `of` is a digest of the line and the settings: --resume answers the lines that
have no answer yet, and refuses a file of answers to other lines, or under other settings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from grammarlm.errors import shorten
from grammarlm.masks.saved.codec import encode

from .generate_io import as_line, files_read, load_model, read_grammar
from .grammar_arguments import read_text
from .written_files import LARGEST, appender, locked, read_answers, refuse_inputs

if TYPE_CHECKING:
    from grammarlm.grammars.compose import Grammar

OWN: dict[str, Any] = {"schema": (dict, bool), "regex": str, "choices": list}
KEYS = ("prompt", "messages", "id", *OWN)


@dataclass(frozen=True)
class Asked:
    """A valid input line."""

    number: int
    digest: str
    prompt: str | list[Any]  # a text, or a conversation
    grammar: Grammar | None
    own: dict[str, Any]  # fields that the answer repeats: the id


@dataclass(frozen=True)
class Failed:
    """An input line that cannot be answered, and why."""

    number: int
    digest: str
    error: str
    own: dict[str, Any]


def run_jsonl(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    """Answers all lines; returns 1 where some failed or were cut."""
    if options.explain or options.report or options.json:
        options.usage_error("--json, --explain and --report go with --prompt")
    if options.resume and not options.out:
        options.usage_error("--resume needs --out FILE, the file to go on with")
    lines = read_lines(options.jsonl, read_grammar(options), settings, options)
    with opened(options, {line.number: line.digest for line in lines}) as (answered, write):
        left = [line for line in lines if line.number not in answered]
        wrong = [number for number, answer in answered.items() if not is_fine_answer(answer)]
        with progress(len(lines), len(answered)) as advance:
            for answer in answers(left, options, settings):
                write(answer)
                wrong += [] if is_fine_answer(answer) else [answer["line"]]
                advance()
    summary = f"{len(lines):,} lines, {len(lines) - len(wrong):,} answered"
    at_fault = f", {len(wrong):,} at fault or cut: {', '.join(map(str, sorted(wrong)[:10]))}" if wrong else ""
    print(f"grammarlm: {summary}{at_fault}{' ...' if len(wrong) > 10 else ''}", file=sys.stderr)
    return 1 if wrong else 0


def is_fine_answer(answer: dict[str, Any]) -> bool:
    return "error" not in answer and answer.get("finish_reason") != "length"


# ------------------------------------------------------------------ in


def read_lines(
    name: str, grammar: Grammar | None, settings: dict[str, Any], options: argparse.Namespace
) -> list[Asked | Failed]:
    """All lines of the input; empty ones are left out, but counted."""
    described = None if grammar is None else hashlib.sha256(encode(grammar, is_brief=True)).hexdigest()
    salt = json.dumps([options.model, described, sorted(settings.items())], default=repr)
    rows = enumerate(read_text(name, LARGEST).split("\n"), 1)
    return [read_line(number, text, salt, grammar) for number, text in rows if text.strip()]


def read_line(number: int, text: str, salt: str, grammar: Grammar | None) -> Asked | Failed:
    digest, own = hashlib.sha256(f"{salt}\n{text.strip()}".encode("utf-8", "surrogatepass")).hexdigest()[:16], {}
    try:
        try:
            line = json.loads(text, parse_constant=no_number)
        except json.JSONDecodeError as error:
            raise ValueError(f"the line is no JSON: {error}") from None
        if not isinstance(line, dict):
            raise ValueError(f"the line is no object {{...}}, but {type(line).__name__}")
        own = {"id": line["id"]} if "id" in line else {}
        prompt = prompt_of(line)
        held = own_grammar(line) or (grammar if "messages" in line else checked(grammar))
        return Asked(number, digest, prompt, held, own)
    except (ValueError, TypeError, RecursionError) as error:
        return Failed(number, digest, f"{error}"[:500] or type(error).__name__, own)


def no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON; write null, or a string")


def prompt_of(line: dict[str, Any]) -> str | list[Any]:
    unknown = [key for key in line if key not in KEYS]
    if unknown:
        raise ValueError(f"the line has the key {unknown[0]!r:.60}; there are {', '.join(KEYS)}")
    given = [line[key] for key in ("prompt", "messages") if key in line]
    if len(given) != 1 or not isinstance(given[0], list if "messages" in line else str):
        raise ValueError('the line has no prompt; it takes one of {"prompt": "..."} and {"messages": [...]}')
    prompt: str | list[Any] = given[0]
    return prompt


def own_grammar(line: dict[str, Any]) -> Grammar | None:
    """The line's own grammar. Its schema is never a file name: a line cannot make this program read a file."""
    from grammarlm.decoding.answers.answer_format import read_format

    given = {name: line[name] for name in OWN if line.get(name) is not None}
    for name, value in given.items():
        if not isinstance(value, OWN[name]):
            wanted = {"schema": "an object", "regex": "a string", "choices": "a list of strings"}[name]
            raise ValueError(f"the line's {name} is {type(value).__name__}; it takes {wanted}")
    return read_format(**given).grammar


def checked(grammar: Grammar | None) -> Grammar:
    if grammar is None:
        raise ValueError(
            "neither the line nor the command says what its answer is held to; give a schema, regex or choices"
        )
    return grammar


# ------------------------------------------------------------------ answers


def answers(
    lines: list[Asked | Failed], options: argparse.Namespace, settings: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The answers in the order of the lines, a batch at a time."""
    if not any(isinstance(line, Asked) for line in lines):
        yield from (failed(line, line.error) for line in lines if isinstance(line, Failed))
        return
    model, tokenizer = load_model(options.model)
    arguments = {"tokenizer": tokenizer, **settings, "batch_size": options.batch_size, "progress": False}
    for start in range(0, len(lines), options.batch_size):
        part = lines[start : start + options.batch_size]
        found = batch(model, [line for line in part if isinstance(line, Asked)], arguments)
        yield from (failed(line, line.error) if isinstance(line, Failed) else found[line.number] for line in part)


def batch(model: Any, lines: list[Asked], arguments: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The answers by line number. If generate() raises, each line is answered alone."""
    from grammarlm.decoding.generate import generate

    if not lines:
        return {}
    try:
        results = generate(
            model, [line.prompt for line in lines], grammar=[line.grammar for line in lines], **arguments
        )
    except (
        Exception
    ) as error:  # of one line, or of the model on it, such as out of memory: the others are still answered
        if len(lines) == 1:
            kind = "" if isinstance(error, (ValueError, TypeError)) else f"{type(error).__name__}: "
            return {lines[0].number: failed(lines[0], shorten(f"{kind}{error}"))}
        return {number: answer for line in lines for number, answer in batch(model, [line], arguments).items()}
    return {line.number: answered(line, result) for line, result in zip(lines, results, strict=True)}


def answered(line: Asked, result: Any) -> dict[str, Any]:
    described = {name: getattr(result, name) for name in ("text", "value", "finish_reason")}
    if result.error is not None:
        described["error"] = result.error
    if isinstance(line.prompt, list):
        described["message"] = result.message
    return {"line": line.number, **line.own, **described, "tokens": result.stats.tokens, "of": line.digest}


def failed(line: Asked | Failed, error: str) -> dict[str, Any]:
    return {"line": line.number, **line.own, "error": error, "of": line.digest}


# ------------------------------------------------------------------ out


@contextmanager
def opened(
    options: argparse.Namespace, digests: dict[int, str]
) -> Iterator[tuple[dict[int, dict[str, Any]], Callable[[dict[str, Any]], None]]]:
    """The existing answers by line number, and the function that writes one."""
    if options.out is None:
        yield {}, print_answer
        return
    refuse_inputs("--out", options.out, files_read(options))
    with locked(options.out, options.resume) as file:
        answered, end = read_answers(file, options.out, digests)
        write = appender(file, end)
        yield answered, lambda answer: write(in_utf_8(answer))


def print_answer(answer: dict[str, Any]) -> None:
    print(as_line(answer, ensure_ascii=not is_utf_8(sys.stdout)), flush=True)


def in_utf_8(answer: dict[str, Any]) -> bytes:
    try:
        return as_line(answer).encode()
    except UnicodeEncodeError:  # a lone surrogate in an id
        return as_line(answer, ensure_ascii=True).encode()


@contextmanager
def progress(count: int, done: int) -> Iterator[Callable[[], None]]:
    """The function to call for each answer: a progress bar where stderr is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda: None
        return
    from grammarlm.decoding.progress import bar_on_stderr

    with bar_on_stderr("lines") as bar:
        task = bar.add_task("lines", total=count, completed=done)
        yield lambda: bar.advance(task)


def is_utf_8(out: TextIO) -> bool:
    """Is the stream's encoding UTF-8?"""
    return (out.encoding or "").lower().replace("-", "").replace("_", "") == "utf8"
