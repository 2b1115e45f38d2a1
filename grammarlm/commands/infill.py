"""`grammarlm infill`: masked tokens filled in by a model, in any order, under a grammar."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from grammarlm.decoding.systems import SAMPLERS
from grammarlm.errors import shorten

from .generate import add_held
from .generate_io import files_read, load_model, read_grammar, read_prompt, set_options, show
from .grammar_arguments import add_unknown, read_text
from .infill_lines import LEGEND, line_of, summary
from .written_files import check_report, refuse_inputs


def add_infill(commands: Any) -> None:
    parser = commands.add_parser(
        "infill",
        help="holes in a text, filled in by a model in any order",
        usage="%(prog)s --model tiny|PATH (--pieces [...]|@FILE | --length N) [option ...]",
        description="Holes in a text, or a text of a given length, filled in by a diffusion language model, or by an "
        "autoregressive one from left to right, held to a grammar.",
        epilog='Pieces are a JSON list: texts, numbers (a hole of so many tokens), {"most": N} (a hole of at most N tokens). What '
        "each sampler does, and its options: the page on infilling of the documentation, or help() of the function, for example "
        "grammarlm.decoding.diffusion.SAMPLERS['entropy'].",
    )
    parser.set_defaults(command=run, usage_error=parser.error, jsonl=None)
    parser.add_argument("--model", required=True, metavar="tiny|PATH", help="the embedded model, or the folder of one")
    parser.add_argument("--prompt", metavar="TEXT|-", help="what the model reads first, and the grammar does not")
    row = parser.add_mutually_exclusive_group(required=True)
    row.add_argument("--pieces", metavar="[...]|@FILE", help='the text and its holes: \'["Say ", 3, "."]\'')
    row.add_argument("--length", type=int, metavar="N", help="one hole of N tokens; a shorter text ends before")
    add_held(parser.add_mutually_exclusive_group())
    add_unknown(parser)
    how = parser.add_argument_group("how it is filled in")
    how.add_argument("--sampler", choices=SAMPLERS, metavar="NAME", help=f"one of {', '.join(SAMPLERS)}")
    how.add_argument("--steps", type=int, metavar="N", help="at most so many steps (as many as there are masks)")
    how.add_argument("--block", type=int, metavar="N", help="in blocks of N tokens, from left to right")
    how.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 (the default) takes the best ids")
    how.add_argument("--seed", type=int, metavar="N", help="equal seeds give equal texts")
    how.add_argument("--mask-id", type=int, metavar="N", help="the id of the model's mask (the tokenizer's)")
    how.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the sampler: tau=0.7"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print text, tokens, log-probabilities and stats as JSON")
    shown.add_argument("--explain", action="store_true", help="show on stderr the text after each step")
    parser.add_argument("--report", metavar="OUT.html", help="write the same as one page")


def run(options: argparse.Namespace) -> int:
    from grammarlm.decoding.compiled_caches import stop_ids_of, vocabulary_of
    from grammarlm.decoding.diffusion.infill import infill
    from grammarlm.decoding.readers.model_facts import width_of

    pieces = pieces_of(options)
    grammar = read_grammar(options)
    if options.report:
        from .infill_page import BEGINNING

        refuse_inputs("--report", options.report, [*files_read(options), file_of(options.pieces)])
        check_report(options.report, BEGINNING.encode())
    prompt = None if options.prompt is None else read_prompt(options.prompt)
    model, tokenizer = load_model(options.model, infills=True)
    settings = {name: getattr(options, name) for name in ("steps", "block", "temperature", "seed", "mask_id")}
    result = infill(
        model,
        pieces,
        tokenizer=tokenizer,
        prompt=prompt,
        grammar=grammar,
        sampler=options.sampler,
        unknown=options.unknown,
        **settings,
        **sampler_options(options),
    )
    vocab = vocabulary_of(tokenizer, width_of(model), stop_ids_of(model, tokenizer))  # infill()'s
    if options.explain:
        explain(result, vocab)
    if options.report:
        from .infill_page import BEGINNING, page
        from .written_files import write_report

        html = page(prompt, grammar, result, vocab)
        write_report(options.report, html.encode("utf-8", "replace"), BEGINNING.encode())
    show(result, options.json)
    if result.error:
        print(f"grammarlm: {result.error}", file=sys.stderr)
    return 1 if result.error else 0


def file_of(pieces: str | None) -> str | None:
    return pieces[1:] if pieces and pieces.startswith("@") else None


def pieces_of(options: argparse.Namespace) -> list[Any]:
    """Texts and Holes."""
    from grammarlm.decoding.diffusion.holes import LONGEST, Hole

    if options.length is not None:
        if not 1 <= options.length <= LONGEST:
            options.usage_error(f"--length {options.length!r:.30}: it takes 1 or more, at most {LONGEST}")
        return [Hole(options.length)]
    named = file_of(options.pieces)
    try:
        given = json.loads(options.pieces if named is None else read_text(named))
        if not isinstance(given, list) or not given:
            raise ValueError("no list")
        return [piece_of(one) for one in given]
    except (ValueError, TypeError) as error:
        raise ValueError(
            shorten(f'--pieces {options.pieces}: {error}; it is a JSON list such as ["Say ", 3, ".", {{"most": 4}}]')
        ) from None


def piece_of(one: Any) -> Any:
    from grammarlm.decoding.diffusion.holes import Hole

    if isinstance(one, str):
        return one
    if isinstance(one, dict) and set(one) == {"most"}:
        return Hole(most=one["most"])
    if isinstance(one, int) and not isinstance(one, bool):
        return Hole(one)
    raise ValueError(f"{one!r:.60} is neither a text nor a hole")


def sampler_options(options: argparse.Namespace) -> dict[str, Any]:
    """Of --set; infill() knows their names."""
    others = ("steps", "block", "temperature", "seed", "policy")
    return set_options(options, lambda name: name not in others, "it takes NAME=VALUE with an option of the sampler")


def explain(result: Any, vocab: Any) -> None:
    """The text after each step, on stderr: what is new is green, what is masked a shade, what was refused a red one."""
    from rich.console import Console
    from rich.text import Text

    from grammarlm.decoding.diffusion.report import frames

    styles = {"given": "dim", "known": "", "new": "bold green", "masked": "dim", "refused": "red"}
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    for frame in frames(result, vocab):
        if frame.step is not None:
            console.print(Text(line_of(frame), style="cyan"))
        line = Text()
        for piece in frame.pieces:
            line.append(piece.shown, style=styles[piece.kind])
        console.print(line)
    console.print(Text(f"{summary(result)}\n{LEGEND}", style="dim"))
