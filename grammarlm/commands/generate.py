"""`grammarlm generate`: an answer to a prompt, or to each line of a file, held to a grammar."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import shorten
from .grammar_arguments import read_text

if TYPE_CHECKING:
    from ..grammars.compose import Grammar

NOTATIONS = {".lark": "Lark", ".gbnf": "Gbnf", ".ebnf": "Ebnf"}  # by the ending of a --grammar file
METHODS = ("masked", "awrs", "smc", "best_of", "beam", "lookahead", "trials")
SAMPLING = ("temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "seed")


def add_generate(commands: Any) -> None:
    parser = commands.add_parser(
        "generate",
        help="an answer to a prompt, or to each line of a file",
        description="An answer to a prompt, or to each line of a JSONL file, held to a grammar.",
        epilog="A text that is cut at --max-tokens is printed as far as it goes, with exit code 1.",
    )
    parser.set_defaults(command=run, usage_error=parser.error)
    parser.add_argument("--model", required=True, metavar="tiny|PATH", help="the embedded model, or the folder of one")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--prompt", metavar="TEXT|-", help="the prompt; - reads it from stdin")
    asked.add_argument(
        "--jsonl",
        metavar="FILE|-",
        help='a line for each prompt: {"prompt": ...}, with a schema, regex or choices of its own',
    )
    add_held(parser.add_mutually_exclusive_group())
    add_sampling(parser)
    add_method(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print text, tokens, log-probabilities and stats as JSON")
    shown.add_argument("--explain", action="store_true", help="show on stderr how each token was chosen")
    shown.add_argument(
        "--report", metavar="OUT.html", help="the same as one page, with the probabilities before and after"
    )
    lines = parser.add_argument_group("with --jsonl")
    lines.add_argument("--out", metavar="FILE", help="where the answers go, a line each (stdout)")
    lines.add_argument("--resume", action="store_true", help="go on with an --out FILE that is not complete")
    lines.add_argument("--batch-size", type=int, default=16, metavar="N", help="prompts that share a forward (16)")


def add_held(held: Any) -> None:
    held.add_argument("--schema", metavar="FILE|{...}", help="the answer is JSON, valid under this schema")
    held.add_argument("--regex", metavar="R", help="the whole answer matches, in Python's syntax")
    held.add_argument("--choices", metavar="A,B,...|@FILE", help="the answer is one of these, or of a file's lines")
    held.add_argument("--grammar", metavar="FILE", help="a grammar: FILE.lark, FILE.gbnf or FILE.ebnf")


def add_sampling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-tokens", type=int, default=256, metavar="N", help="the answer has at most so many (256)")
    parser.add_argument("--no-close", action="store_true", help="cut it there, instead of seeing to it that it ends")
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 (the default) is greedy")
    parser.add_argument("--top-k", type=int, metavar="K", help="draw from the K most probable tokens")
    parser.add_argument("--top-p", type=float, metavar="P", help="draw from the fewest tokens that together have P")
    parser.add_argument("--min-p", type=float, metavar="P", help="draw from tokens of at least P times the best one's")
    parser.add_argument("--typical-p", type=float, metavar="P", help="draw from the most typical tokens that have P")
    parser.add_argument("--repetition-penalty", type=float, default=1.0, metavar="X", help="1 (the default) is none")
    parser.add_argument("--seed", type=int, metavar="N", help="equal seeds give equal answers")


def add_method(parser: argparse.ArgumentParser) -> None:
    found = parser.add_argument_group("how answers are found")
    found.add_argument("--n", type=int, default=1, metavar="N", help="independent answers, one after another (1)")
    found.add_argument("--heal", action="store_true", help="a word of the prompt's end may go on in the answer")
    found.add_argument("--method", choices=METHODS, default="masked", help="masked is the default")
    found.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the method, such as particles=32 or beams=8",
    )


def run(options: argparse.Namespace) -> int:
    settings = checked_settings(options)
    if options.jsonl is not None:
        from .jsonl import run_jsonl

        if options.n > 1:
            options.usage_error("--n goes with --prompt: a line of --jsonl has one answer")
        return run_jsonl(options, settings)
    grammar = read_grammar(options)
    if grammar is None:
        options.usage_error("give one of --schema, --regex, --choices and --grammar")
    if options.out or options.resume:
        options.usage_error("--out and --resume go with --jsonl")
    if (options.explain or options.report) and (options.n > 1 or options.method != "masked"):
        options.usage_error('--explain and --report show one answer, found by --method "masked"')
    prompt = read_prompt(options.prompt)
    model, tokenizer = load_model(options.model)
    arguments = {"tokenizer": tokenizer, "grammar": grammar, **settings}
    if options.explain or options.report:
        from .explain import explained

        results = [explained(model, prompt, {k: v for k, v in arguments.items() if k != "method"}, options)]
    else:
        from ..decoding.generate import generate

        found = generate(model, prompt, **arguments)
        results = found if isinstance(found, list) else [found]
    for result in results:
        show(result, options.json)
    if any(result.finish_reason == "length" for result in results):
        print(f"grammarlm: the answer was cut after {options.max_tokens} tokens; raise --max-tokens", file=sys.stderr)
        return 1
    return 0


def checked_settings(options: argparse.Namespace) -> dict[str, Any]:
    """How it is sampled and where it ends; what is out of range is wrong usage."""
    from ..decoding.arguments import check_integer
    from ..decoding.sampling import Sampling

    sampling = {name: getattr(options, name) for name in SAMPLING}
    try:
        Sampling(**sampling)
        check_integer("max_tokens", options.max_tokens, 1)
        check_integer("n", options.n, 1)
        check_integer("batch_size", options.batch_size, 1)
    except ValueError as error:
        options.usage_error(str(error))
    settings = {**sampling, "max_tokens": options.max_tokens, "close": not options.no_close}
    return settings | {"n": options.n, "heal": options.heal, "method": options.method} | method_options(options)


def method_options(options: argparse.Namespace) -> dict[str, Any]:
    """--set NAME=VALUE: a number where it reads as one, else text. The names are those that the method takes."""
    from inspect import signature

    from ..decoding.methods import method_of

    takes = {
        name for name, one in signature(method_of(options.method)).parameters.items() if one.kind is one.KEYWORD_ONLY
    }
    takes -= {"score", "critic"}  # functions, which a command line cannot name
    found: dict[str, Any] = {}
    for given in options.set:
        name, equals, value = given.partition("=")
        if not equals or name not in takes:
            options.usage_error(
                f"--set {given}: --method {options.method} takes {', '.join(sorted(takes)) or 'no options'}"
            )
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


# ------------------------------------------------------------------ what it is held to


def read_grammar(options: argparse.Namespace) -> Grammar | None:
    """What the options describe; None where they describe nothing."""
    if options.schema is not None:
        return schema_of(options.schema)
    if options.regex is not None:
        from ..grammars.regex import Regex

        return Regex(options.regex)
    if options.choices is not None:
        from ..grammars.choices import Choices

        return Choices(read_choices(options.choices))
    return None if options.grammar is None else grammar_of_file(options.grammar, options)


def schema_of(given: str) -> Grammar:
    """The schema itself, or a file's."""
    from ..grammars.json_schema import JsonSchema  # type: ignore[attr-defined]

    return JsonSchema(given if given.lstrip().startswith("{") else read_text(given))


def grammar_of_file(name: str, options: argparse.Namespace) -> Grammar:
    """The notation is told by the ending."""
    from importlib import import_module

    kind = NOTATIONS.get(Path(name).suffix.lower())
    if kind is None:
        options.usage_error(
            f"--grammar {name}: the ending says what it is written in; there are {', '.join(NOTATIONS)}"
        )
    made: Grammar = getattr(import_module(f"..grammars.{str(kind).lower()}", __package__), str(kind))(read_text(name))
    return made


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


# ------------------------------------------------------------------ in and out


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


def show(result: Any, as_json: bool) -> None:
    """Prints the answer, exactly or not at all: JSON has escapes for what the terminal cannot show, plain text has none."""
    try:
        print(as_line(asdict(result)) if as_json else result.text)
    except UnicodeEncodeError as error:
        if not as_json:
            raise ValueError(
                f"the answer {result.text[:100]!a} cannot be written in stdout's encoding, {error.encoding}; "
                "set PYTHONIOENCODING=utf-8, or use --json"
            ) from None
        print(as_line(asdict(result), ensure_ascii=True))


def as_line(value: Any, ensure_ascii: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, default=spelled)


def spelled(value: Any) -> Any:
    """What JSON has no form for: bytes that are no text, an integer too long for Python's int."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def load_model(name: str) -> tuple[Any, Any]:
    """The embedded model, or the model and tokenizer in a folder; nothing is downloaded."""
    if name == "tiny":
        from ..models.tiny import load_tiny

        return load_tiny()
    if not Path(name).is_dir():
        raise FileNotFoundError(f"--model {name}: there is no such folder; give tiny, or the folder of a model")
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        is_encoder_decoder = getattr(
            AutoConfig.from_pretrained(name, local_files_only=True), "is_encoder_decoder", False
        )
        kind = AutoModelForSeq2SeqLM if is_encoder_decoder else AutoModelForCausalLM
        model = kind.from_pretrained(name, local_files_only=True)
        return model.eval(), AutoTokenizer.from_pretrained(name, local_files_only=True)
    except Exception as error:  # a damaged file of weights has an exception of its own library
        raise ValueError(shorten(f"--model {name} cannot be loaded: {error}")) from error
