"""The command line.

    grammarlm demo
    grammarlm generate --model tiny --prompt - --schema order.json --explain < prompt.txt
    grammarlm generate --model tiny --jsonl prompts.jsonl --schema order.json --out answers.jsonl --resume
    grammarlm infill --model tiny --pieces '["Say ", 3, "."]' --regex 'Say [a-z ]+[.]' --explain
    grammarlm check schema.json instance.json
    grammarlm inspect schema.json --text '{"name": '
    grammarlm methods vote
    grammarlm warm --tokenizer PATH --grammar sql.lark
    grammarlm serve tiny --port 8000
    grammarlm bench maskbench DIR --engines grammarlm,llguidance

Exit codes: 0 fine; 1 the input is at fault, and a message on stderr says how; 2 wrong usage; as usual, 130 after
Ctrl-C and 141 where the reader of the output has closed the pipe. A command imports what it needs
when it runs, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from grammarlm.bench.arguments import add_bench
from grammarlm.commands.check import add_check
from grammarlm.commands.generate import add_generate
from grammarlm.commands.infill import add_infill
from grammarlm.commands.inspect import add_inspect
from grammarlm.commands.methods import add_methods
from grammarlm.commands.serve import add_serve
from grammarlm.commands.warm import add_warm

from .errors import SchemaWarning
from .version import version

INTERRUPTED, PIPE_CLOSED = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code; argparse itself exits with 2 on wrong usage."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        with schema_warnings_as_lines():
            code = options.command(options)
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk or a closed pipe raises here, not at interpreter exit
        return code
    except BrokenPipeError:  # the reader, `head` for example, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards what is still buffered
        return PIPE_CLOSED
    except (ValueError, TypeError, OSError) as error:
        print(f"grammarlm: {told(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def told(error: Exception) -> str:
    """The message; of a file that cannot be read or written its name and why, without the system's number."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename!r}: {error.strerror}"
    return str(error)


@contextmanager
def schema_warnings_as_lines() -> Iterator[None]:
    """Warnings about a schema as lines of this program: without the place in its sources, where nobody has to look."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def shown(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, SchemaWarning):
                print(f"grammarlm: {message}", file=sys.stderr)
            else:
                show(message, category, *place, **more)

        warnings.showwarning = shown
        yield


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grammarlm", description="Structured generation: language models held to grammars."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version()}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="command")
    demo = commands.add_parser("demo", help="constrained generations on the embedded model, token by token")
    demo.set_defaults(command=run_demo)
    add_generate(commands)
    add_infill(commands)
    add_check(commands)
    add_inspect(commands)
    add_methods(commands)
    add_warm(commands)
    add_serve(commands)
    add_bench(commands)
    return parser


def run_demo(options: argparse.Namespace) -> int:
    from grammarlm.commands.demo import run

    return run()
