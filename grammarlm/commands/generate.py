"""`grammarlm generate`: an answer to a prompt, or to each line of a file, under a grammar."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from grammarlm.decoding.systems import AUTO, DRAFTERS, METHODS
from grammarlm.grammars.registry import suffixes

from .generate_io import files_read, load_model, read_grammar, read_json, read_prompt, set_options, show
from .grammar_arguments import add_unknown
from .written_files import check_report, refuse_inputs

SAMPLING = ("temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "seed")


def add_generate(commands: Any) -> None:
    parser = commands.add_parser(
        "generate",
        help="an answer to a prompt, or to each line of a file",
        usage="%(prog)s --model tiny|PATH (--prompt TEXT|- | --messages FILE|[...]|- | --jsonl FILE|-) [option ...]",
        description="An answer to a prompt, or to each line of a JSONL file, held to a grammar.",
        epilog="A text that is cut at --max-tokens is printed as far as it goes, with exit code 1.",
    )
    parser.set_defaults(command=run, usage_error=parser.error)
    parser.add_argument("--model", required=True, metavar="tiny|PATH", help="the embedded model, or the folder of one")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--prompt", metavar="TEXT|-", help="the prompt; - reads it from stdin")
    asked.add_argument(
        "--messages", metavar="FILE|[...]|-", help="a conversation: JSON, a list of messages with a role and content"
    )
    asked.add_argument(
        "--jsonl",
        metavar="FILE|-",
        help='a line for each prompt: {"prompt": ...} or {"messages": ...}, with a schema, regex or choices of its own',
    )
    parser.add_argument("--tools", metavar="FILE|[...]", help="what the model may call: JSON, a list as OpenAI's")
    add_held(parser.add_mutually_exclusive_group())
    add_unknown(parser)
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
    held.add_argument("--grammar", metavar="FILE", help=f"a grammar in a file, by its suffix: {', '.join(suffixes())}")


def add_sampling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-tokens", type=int, default=256, metavar="N", help="the answer has at most so many (256)")
    parser.add_argument(
        "--stop", action="append", metavar="TEXT", help="the answer ends before this text; may be given several times"
    )
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
        "--draft",
        type=drafters,
        metavar="NAME[,NAME]",
        help=f"what proposes tokens that the model verifies, several a forward: {AUTO}, or some of {', '.join(DRAFTERS)}",
    )
    found.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=N",
        help="what a grammar may cost: max_ms=N, max_bytes=N, max_states=N or max_depth=N",
    )
    found.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the method, such as particles=32 or beams=8",
    )


def drafters(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in (AUTO, *DRAFTERS):
            raise argparse.ArgumentTypeError(f"{name!r} is no drafter; there are {AUTO}, {', '.join(DRAFTERS)}")
    return names


def run(options: argparse.Namespace) -> int:
    from grammarlm.decoding.result import COMPLETE

    settings = checked_settings(options)
    if options.jsonl is not None:
        from .jsonl import run_jsonl

        if options.n > 1:
            options.usage_error("--n goes with --prompt and --messages: a line of --jsonl has one answer")
        return run_jsonl(options, settings)
    grammar = read_grammar(options)
    if options.tools and options.messages is None:
        options.usage_error("--tools goes with --messages and --jsonl")
    if grammar is None and (options.messages is None or options.explain or options.report):
        options.usage_error("give one of --schema, --regex, --choices and --grammar")
    if options.out or options.resume:
        options.usage_error("--out and --resume go with --jsonl")
    if (options.explain or options.report) and (options.n > 1 or options.method != "masked"):
        options.usage_error('--explain and --report show one answer, found by --method "masked"')
    if options.report:
        from .report_page import BEGINNING

        refuse_inputs("--report", options.report, files_read(options))
        check_report(options.report, BEGINNING.encode())
    prompt = read_prompt(options.prompt) if options.messages is None else read_json("--messages", options.messages)
    model, tokenizer = load_model(options.model)
    arguments = {"tokenizer": tokenizer, "grammar": grammar, **settings}
    if options.explain or options.report:
        from .explain import explained

        results = [explained(model, prompt, {k: v for k, v in arguments.items() if k != "method"}, options)]
    else:
        from grammarlm.decoding.generate import generate

        found = generate(model, prompt, **arguments)
        results = found if isinstance(found, list) else [found]
    for result in results:
        show(result, options.json)
    cut = f"the answer was cut after {options.max_tokens} tokens; raise --max-tokens"
    wrong = [result.error or cut for result in results if result.finish_reason not in COMPLETE]
    for message in dict.fromkeys(wrong):
        print(f"grammarlm: {message}", file=sys.stderr)
    return 1 if wrong else 0


def checked_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of sampling and length; values out of range are wrong usage."""
    from grammarlm.decoding.arguments import check_integer
    from grammarlm.decoding.logits.sampling import Sampling

    sampling = {name: getattr(options, name) for name in SAMPLING}
    try:
        Sampling(**sampling)
        check_integer("max_tokens", options.max_tokens, 1)
        check_integer("n", options.n, 1)
        check_integer("batch_size", options.batch_size, 1)
    except ValueError as error:
        options.usage_error(str(error))
    settings = {**sampling, "max_tokens": options.max_tokens, "close": not options.no_close}
    if options.unknown != "warn":
        settings["unknown"] = options.unknown
    if options.limit:
        settings["limits"] = limits_of(options)
    if options.stop:
        settings["stop"] = options.stop
    if options.tools:
        settings["tools"] = read_json("--tools", options.tools)
    if options.draft:
        settings["draft"] = options.draft if len(options.draft) > 1 else options.draft[0]
    return settings | {"n": options.n, "heal": options.heal, "method": options.method} | method_options(options)


def limits_of(options: argparse.Namespace) -> Any:
    """The Limits of all --limit NAME=N."""
    from grammarlm.masks.runtime.limits import Limits

    given = dict(one.partition("=")[::2] for one in options.limit)
    try:
        return Limits(**{name: json.loads(value or "null") for name, value in given.items()})
    except (ValueError, TypeError) as error:
        options.usage_error(f"--limit {' '.join(options.limit)}: {error}")


def method_options(options: argparse.Namespace) -> dict[str, Any]:
    """Of --set, where the names are those that the method takes."""
    from grammarlm.decoding.generate import method_of
    from grammarlm.decoding.settings import option_names

    takes = option_names(method_of(options.method))
    takes -= {"score", "critic", "policy", "key"}  # functions, which a command line cannot pass
    takes -= {"weight"} if options.method == "vote" else set()  # of "grounded" it is a number
    accepted = f"--method {options.method} takes {', '.join(sorted(takes)) or 'no options'}"
    return set_options(options, takes.__contains__, accepted)
