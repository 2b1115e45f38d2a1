"""`grammarlm check SCHEMA [INSTANCE]`: the compile report of a grammar, or where and why an instance is refused."""

from __future__ import annotations

import argparse
import dataclasses
from time import perf_counter
from typing import TYPE_CHECKING, Any

from grammarlm.errors import brief
from grammarlm.grammars.registry import KINDS

from .grammar_arguments import add_grammar, read_arguments

if TYPE_CHECKING:
    from grammarlm.grammars.compose import Grammar
    from grammarlm.grammars.lark.grammar import Lark

SEARCHED_MS, MOST_PAIRS = 2_000, 100  # of the search for terminals that match a common text


def add_check(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="compile a JSON schema, and say where and why an instance is refused",
        description="Without INSTANCE: the compile report. With it: whether it is accepted, else where and why not.",
    )
    add_grammar(parser, "INSTANCE", "the instance")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    from grammarlm.grammars.lark.grammar import Lark
    from grammarlm.masks.constraint import compile
    from grammarlm.masks.messages.unknown_words import check_unknown
    from grammarlm.vocab.byte_vocabulary import byte_vocabulary

    from .refusal import refused

    grammar, text, name = read_arguments(options)
    load_kernels(grammar)
    start = perf_counter()
    constraint = compile(grammar, byte_vocabulary())
    took = perf_counter() - start
    if text is not None or options.unknown == "refuse":  # the report has them
        check_unknown(constraint, options.unknown)
    if text is None:
        print(f"compiled in {took * 1e3:.1f} ms, {constraint.nbytes:,} bytes")
        print(report_lines(constraint.report))
        if isinstance(grammar, Lark):
            print(collisions_of(grammar))
        return 0
    wrong = refused(constraint.matcher(), text, name, whole=True)
    if wrong is not None:
        raise ValueError(wrong)
    print(f"{name}: accepted, {len(text):,} bytes")
    return 0


def load_kernels(grammar: Grammar) -> None:
    """Compiles a trivial grammar of the same kind first, so that loading kernels is not part of the reported time."""
    from grammarlm.grammars.json_schema.schema import JsonSchema  # type: ignore[attr-defined]
    from grammarlm.grammars.text import Text
    from grammarlm.masks.constraint import compile
    from grammarlm.vocab.byte_vocabulary import byte_vocabulary

    kind: Any = type(grammar)
    example = KINDS[kind.__name__].example
    compile(kind(example) if example else Text() + JsonSchema(True), byte_vocabulary())


def collisions_of(grammar: Lark) -> str:
    """The terminals that match a common text, a line each pair, and what was not looked at."""
    from grammarlm.grammars.lark.collisions import collisions
    from grammarlm.masks.runtime.limits import Clock, Limits

    known = collisions(grammar, Clock(Limits(max_ms=SEARCHED_MS)).tick)
    lines = [f"  {pair.preferred}, {pair.other}: {brief(pair.text)}" for pair in known.found[:MOST_PAIRS]]
    if len(known.found) > MOST_PAIRS:
        lines.append(f"  and {len(known.found) - MOST_PAIRS} more")
    lines += [f"  {name} is left out: {why}" for name, why in known.refused.items()]
    if known.unfinished:
        lines.append(f"  the search was ended, so pairs may be missing: {known.unfinished}")
    return "\n".join(
        ["terminals with a common text (lark's lexer prefers the first):" + ("" if lines else " none"), *lines]
    )


def report_lines(report: Any) -> str:
    """A report as lines: one a field, lists below it; empty fields are printed, too, so that nothing is silent."""
    lines = []
    for field in dataclasses.fields(report):
        value, label = getattr(report, field.name), field.name.replace("_", " ")
        if field.name == "keywords" and value is not None:  # of a JSON schema, computed on demand
            value = [str(line) for line in value()]
        if isinstance(value, (tuple, list)):
            lines += [f"{label}: {'none' if not value else ''}".rstrip(), *(f"  {item}" for item in value)]
        elif isinstance(value, dict):
            lines += [
                f"{label}: {'none' if not value else ''}".rstrip(),
                *(f"  {key}: {item}" for key, item in value.items()),
            ]
        elif value is not None:
            lines.append(f"{label}: {value}")
    warnings = getattr(report, "warnings", ())
    lines += [f"warnings: {'' if warnings else 'none'}".rstrip(), *(f"  {line}" for line in warnings)]
    return "\n".join(lines)
