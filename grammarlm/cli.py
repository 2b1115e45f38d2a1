"""The command line.

    grammarlm demo
    grammarlm generate --model tiny --prompt - --regex '\\{.*\\}' < prompt.txt
    grammarlm check schema.json instance.json
    grammarlm inspect schema.json --text '{"name": '
    grammarlm bench maskbench DIR --engines grammarlm,llguidance

Exit codes: 0 fine; 1 the input is at fault, and a message on stderr says how; 2 wrong usage; as of other programs, 130 after
Ctrl-C and 141 where the reader of the output has gone. A command imports what it needs
when it runs, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .bench.arguments import add_bench
from .commands.check import add_check
from .commands.inspect import add_inspect
from .errors import shorten

INTERRUPTED, PIPE_CLOSED = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code; argparse itself exits with 2 on wrong usage."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        code = options.command(options)
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk or a closed pipe shows here, not in a message of the interpreter's at its end
        return code
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still in the buffer goes nowhere
        return PIPE_CLOSED
    except (ValueError, TypeError, OSError) as error:
        print(f"grammarlm: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grammarlm", description="Structured generation: language models held to grammars."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {installed_version()}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="command")
    demo = commands.add_parser("demo", help="constrained generations on the embedded model, token by token")
    demo.set_defaults(command=run_demo)
    add_generate(commands)
    add_check(commands)
    add_inspect(commands)
    add_bench(commands)
    return parser


def add_generate(commands: Any) -> None:
    parser = commands.add_parser(
        "generate",
        help="one answer to one prompt",
        description="One answer to one prompt, held to a grammar.",
        epilog="A text that is cut at --max-tokens is printed as far as it goes, with exit code 1.",
    )
    parser.set_defaults(command=run_generate, usage_error=parser.error)
    parser.add_argument("--model", required=True, metavar="tiny|PATH", help="the embedded model, or the folder of one")
    parser.add_argument("--prompt", required=True, metavar="TEXT|-", help="the prompt; - reads it from stdin")
    held = parser.add_mutually_exclusive_group(required=True)
    held.add_argument("--regex", metavar="R", help="the whole answer matches, in Python's syntax")
    held.add_argument("--choices", metavar="A,B,...|@FILE", help="the answer is one of these, or of a file's lines")
    parser.add_argument("--max-tokens", type=int, default=256, metavar="N", help="where the answer is cut (256)")
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 (the default) is greedy")
    parser.add_argument("--top-k", type=int, metavar="K", help="draw from the K most probable tokens")
    parser.add_argument("--top-p", type=float, metavar="P", help="draw from the fewest tokens that together have P")
    parser.add_argument("--min-p", type=float, metavar="P", help="draw from tokens of at least P times the best one's")
    parser.add_argument("--seed", type=int, metavar="N", help="equal seeds give equal answers")
    parser.add_argument("--json", action="store_true", help="print text, tokens, log-probabilities and stats as JSON")


def run_demo(options: argparse.Namespace) -> int:
    from .decoding.demo import run

    return run()


def run_generate(options: argparse.Namespace) -> int:
    from .decoding.arguments import check_integer
    from .decoding.sampling import Sampling

    sampling = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p", "min_p", "seed")}
    try:
        Sampling(**sampling)
        check_integer("max_tokens", options.max_tokens, 1)
    except ValueError as error:
        options.usage_error(str(error))
    prompt = read_prompt(options.prompt)
    choices = None if options.choices is None else read_choices(options.choices)
    model, tokenizer = load_model(options.model)

    from .decoding.generate import generate

    result = generate(
        model,
        prompt,
        tokenizer=tokenizer,
        regex=options.regex,
        choices=choices,
        max_tokens=options.max_tokens,
        **sampling,
    )
    show(result, options.json)
    if result.finish_reason == "length":
        print(f"grammarlm: the answer was cut after {options.max_tokens} tokens; raise --max-tokens", file=sys.stderr)
        return 1
    return 0


def read_prompt(given: str) -> str:
    """The prompt itself, or stdin's content for -."""
    if given != "-":
        return given
    if sys.stdin is None:
        raise ValueError("--prompt -: stdin is closed; send the prompt there, or give it as --prompt TEXT")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"--prompt -: stdin is no {error.encoding}: {error.reason} at byte {error.start}") from None


def read_choices(given: str) -> list[str]:
    """A,B,C or @FILE with one choice a line; empty ones are left out."""
    if not given.startswith("@"):
        return [choice for choice in given.split(",") if choice]
    try:
        text = Path(given[1:]).read_text(encoding="utf-8-sig")  # with or without the mark that some editors put first
    except UnicodeDecodeError as error:
        reason = f"{error.reason} at byte {error.start}"
        raise ValueError(
            f"--choices {given}: the file is no UTF-8 ({reason}); save it as UTF-8, one choice a line"
        ) from None
    return [choice for choice in text.split("\n") if choice]


def show(result: Any, as_json: bool) -> None:
    """Prints the answer, exactly or not at all: JSON has escapes for what the terminal cannot show, plain text has none."""
    try:
        print(json.dumps(asdict(result), ensure_ascii=False) if as_json else result.text)
    except UnicodeEncodeError as error:
        if not as_json:
            raise ValueError(
                f"the answer {result.text[:100]!a} cannot be written in stdout's encoding, {error.encoding}; "
                "set PYTHONIOENCODING=utf-8, or use --json"
            ) from None
        print(json.dumps(asdict(result)))


def load_model(name: str) -> tuple[Any, Any]:
    """The embedded model, or the model and tokenizer in a folder; nothing is downloaded."""
    if name == "tiny":
        from .models.tiny import load_tiny

        return load_tiny()
    if not Path(name).is_dir():
        raise FileNotFoundError(f"--model {name}: there is no such folder; give tiny, or the folder of a model")
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(name, local_files_only=True)
        return model.eval(), AutoTokenizer.from_pretrained(name, local_files_only=True)
    except Exception as error:  # a damaged file of weights has an exception of its own library
        raise ValueError(shorten(f"--model {name} cannot be loaded: {error}")) from error


def installed_version() -> str:
    try:
        return version("grammarlm")
    except PackageNotFoundError:
        return "(not installed)"
