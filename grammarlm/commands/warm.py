"""`grammarlm warm`: makes all that a first use would make and keep, for images of containers.

Afterwards a process needs no folder that it can write: kernels, tables of the tokenizer, formats and character classes are
read from the cache.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any

from grammarlm.cache import UNWRITABLE, cache_folder
from grammarlm.grammars.registry import KINDS, class_of, suffixes

from .grammar_arguments import grammar_in

if TYPE_CHECKING:
    from grammarlm.grammars.compose import Grammar
    from grammarlm.vocab.vocabulary import Vocabulary

CLASSES = r"\w\d\s(?i:[a-zß-ÿ])"  # tables of characters are kept on disk
TEXTS, TOKENS = 5, 100  # texts along which masks are made


def add_warm(commands: Any) -> None:
    parser = commands.add_parser(
        "warm",
        help="fill the cache: kernels, a tokenizer's tables, grammars",
        description="Makes what a first use would make and keep on disk, so that later processes only read it. "
        "GRAMMARLM_CACHE says where.",
    )
    parser.add_argument("--tokenizer", "--model", metavar="PATH", help="of a tokenizer, or of a model with one")
    parser.add_argument(
        "--grammar",
        action="append",
        default=[],
        metavar="FILE",
        help=f"a grammar that will be used, by its suffix: {', '.join(suffixes())}; can be repeated",
    )
    parser.set_defaults(command=run, usage_error=parser.error)


def run(options: argparse.Namespace) -> int:
    grammars = {path: grammar_in(path) for path in options.grammar}
    for name, make in steps(options.tokenizer, grammars):
        start = perf_counter()
        what = make()
        print(f"{name:<12} {what} ({perf_counter() - start:.2f} s)", flush=True)
    if UNWRITABLE:  # each write that failed was reported
        raise ValueError(f"nothing is kept: {cache_folder()} cannot be written")
    print(f"kept in      {cache_folder()}")
    return 0


def steps(tokenizer: str | None, grammars: dict[str, Grammar]) -> Iterator[tuple[str, Callable[[], str]]]:
    """What is made, each with a function that makes it and says what it is."""
    yield "kernels", load_kernels
    yield "formats", make_formats
    if tokenizer is None:
        from grammarlm.vocab.byte_vocabulary import byte_vocabulary

        vocab = byte_vocabulary()
    else:
        from .inspect import load_vocabulary

        vocab = load_vocabulary(tokenizer)
        yield "tokenizer", lambda: f"{tokenizer}: {vocab.size:,} ids"
    yield "characters", lambda: compiled(class_of("Regex")(CLASSES), vocab)
    for kind, notation in KINDS.items():
        if notation.example:
            yield kind, lambda kind=kind, text=notation.example: compiled(class_of(kind)(text), vocab)  # type: ignore[misc]
    for path, grammar in grammars.items():
        yield path, lambda grammar=grammar: compiled(grammar, vocab)  # type: ignore[misc]


def load_kernels() -> str:
    from grammarlm.kernels import entries

    entries.load()
    return "compiled ahead of time" if entries.are_shipped() else "compiled by numba"


def make_formats() -> str:
    from grammarlm.masks.machines.json.formats import format_automata

    return f"{len(format_automata('regex').accepts):,} states"


def compiled(grammar: Grammar, vocab: Vocabulary) -> str:
    """Compiles a grammar and makes masks along some texts."""
    from grammarlm.masks.constraint import compile

    from .inspect import allowed

    constraint, rng = compile(grammar, vocab), Random(0)
    for _ in range(TEXTS):
        matcher = constraint.matcher()
        for _ in range(TOKENS):
            tokens = allowed(matcher, vocab)
            if not len(tokens) or not matcher.advance(int(rng.choice(tokens))):
                break
    return f"{constraint.nbytes:,} bytes"
