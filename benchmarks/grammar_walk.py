"""One grammar, one tokenizer, all engines, in one process: what grammar_masks.py starts for each of its cases.

usage: python -m benchmarks.grammar_walk CORPUS NOTATION TOKENIZER --seconds S --engines A,B --into FILE [--again]

Engines walk the same tokens of the same texts, text by text in turn and in changing order. The first pass is the cold one (an
engine keeps what earlier texts taught it, as it does in service), the second the warm one, in fresh matchers on the same compiled
grammar. An engine that has walked for S seconds in one pass stops there ("timeout", its figures cover the masks it made). A token
that a mask lacks, or that is refused, or a finished text that may not end, is "wrong", and no figure of that engine is kept.
`--again` measures only the first tokens, in a process that finds on disk what an earlier one left.
"""

import argparse
import itertools
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.corpora import load as load_corpus
from benchmarks.grammar_peers import ENGINES, Missing, XGrammarBuiltIn
from benchmarks.positions import kinds
from benchmarks.report import quantiles
from benchmarks.scout import Scout, forget, in_turn, settle
from benchmarks.tokenizers import load as load_tokenizer

WARM_UP = (("lark", 'start: "a" B\nB: /b+/\n'), ("gbnf", 'root ::= "a" [b]+\n'), ("ebnf", 'root ::= "a" [b]+\n'))
FIRST = 200  # tokens of the "first tokens ever"


class Stopped(Exception):
    """An engine walks no further in this case; args are (outcome, detail)."""


@dataclass
class Run:
    """One engine in one case."""

    engine: object
    scout: Scout | None = None
    outcome: str = "ok"
    detail: str = ""
    compiled: float = 0.0  # microseconds
    cold: dict[int, list[tuple[float, float]]] = field(default_factory=dict)  # text -> (mask, advance) in microseconds
    warm: dict[int, list[tuple[float, float]]] = field(default_factory=dict)

    def stop(self, outcome: str, detail: str) -> None:
        self.outcome, self.detail = outcome, detail
        if outcome != "timeout":
            self.cold, self.warm = {}, {}


def walk(run: Run, tokens: list[int], until: float) -> tuple[list[tuple[float, float]], bool]:
    """Microseconds of each (mask, advance), and whether the text was walked to its end before the clock says `until`."""
    engine = run.engine
    begin = time.perf_counter_ns()
    engine.start()
    extra = time.perf_counter_ns() - begin  # a matcher's start belongs to its first mask
    times: list[tuple[float, float]] = []
    for position, token in enumerate(tokens):
        begin = time.perf_counter_ns()
        engine.mask()
        masked = time.perf_counter_ns()
        allowed = engine.allowed(token)
        if not allowed:
            fault = engine.fault()  # asked before the token is: it calls a token that it refuses a fault too
            raise Stopped(
                "error" if fault else "wrong", f"token {position} ({token}): {fault or 'not in the mask':.150}"
            )
        resumed = time.perf_counter_ns()
        taken = engine.advance(token)
        end = time.perf_counter_ns()
        if not taken:
            raise Stopped("wrong", f"token {position} ({token}): in the mask, but refused")
        times.append(((masked - begin + extra) / 1e3, (end - resumed) / 1e3))
        extra = 0
        if time.perf_counter() > until:
            return times, False
    if not engine.complete():
        raise Stopped("wrong", "the text may not end")
    return times, True


def compile_grammar(run: Run, source: tuple[str, str, str]) -> None:
    try:
        if run.scout and not run.scout.compiles_in_time(run.engine, *source):
            run.stop("timeout", "compile")
            return
        forget(run.engine)
        begin = time.perf_counter_ns()
        run.engine.compile(*source)
        run.compiled = (time.perf_counter_ns() - begin) / 1e3
    except Missing as error:
        run.stop("missing", str(error))
    except Exception as error:
        outcome = "refused" if isinstance(error, run.engine.refusal) else "error"
        run.stop(outcome, f"{type(error).__name__}: {error!s:.150}".replace("\n", " "))


def one_pass(runs: list[Run], texts: list[list[int]], seconds: float, which: str) -> None:
    spent = {id(run): 0.0 for run in runs}
    for index, tokens in enumerate(texts):
        for run in in_turn(runs, index):
            walkable = run.outcome == "ok" or (which == "warm" and run.outcome == "timeout" and index in run.cold)
            left = seconds - spent[id(run)]
            if not walkable or left <= 0:
                continue
            begin = time.perf_counter()
            try:
                times, finished = walk(run, tokens, begin + left)
            except Stopped as stopped:
                run.stop(*stopped.args)
                continue
            except Exception as error:
                run.stop("error", f"{type(error).__name__}: {error!s:.150}")
                continue
            getattr(run, which)[index] = times
            spent[id(run)] += time.perf_counter() - begin
            if not finished:
                run.stop("timeout", f"{seconds:.0f} s a pass")


def start_engines(names: list[str], tokenizer, vocab, corpus: str) -> list[Run]:
    """The engines, after whatever they make once a process (kernels loaded, tries built)."""
    kinds_ = [k for k in ENGINES if k.name in names and (corpus == "json" or k is not XGrammarBuiltIn)]
    runs = [Run(kind(tokenizer, vocab)) for kind in kinds_]
    scout = Scout([run.engine for run in runs])
    tokens = tokenizer.encode("abb", add_special_tokens=False)
    for run, (notation, text) in itertools.product(runs, WARM_UP):
        if isinstance(run.engine, XGrammarBuiltIn):  # it has no other grammar, and xgrammar is warm by now
            continue
        warm_up = Run(run.engine)
        compile_grammar(warm_up, (notation, text, "warm-up"))
        if warm_up.outcome == "ok":
            walk(warm_up, tokens, time.perf_counter() + 60)
    for run in runs:
        run.scout = scout
    settle()
    return runs


def first_tokens(run: Run) -> float | None:
    """Milliseconds from the grammar's text to the mask and advance of the first tokens ever, or None where it made fewer."""
    times = [t for index in sorted(run.cold) for t in run.cold[index]][:FIRST]
    return (run.compiled + sum(map(sum, times))) / 1e3 if len(times) == FIRST else None


def figures(run: Run, named: list[list[str]]) -> dict:
    found: dict = {"outcome": run.outcome, "detail": run.detail}
    if not run.cold:
        return found
    cold = [pair for index in sorted(run.cold) for pair in run.cold[index]]
    warm = [pair for index in sorted(run.warm) for pair in run.warm[index]]
    kind = [k for index in sorted(run.cold) for k in named[index][: len(run.cold[index])]]
    both = [mask + advance for mask, advance in cold]
    return found | {
        "compile": run.compiled,
        "compile + first mask": run.compiled + cold[0][0],
        "masks": len(cold),
        "cold mask": quantiles([mask for mask, _ in cold]),
        "cold mask + advance": quantiles(both),
        "warm mask + advance": quantiles([mask + advance for mask, advance in warm]),
        "warm mask": quantiles([mask for mask, _ in warm]),
        "advance": quantiles([advance for _, advance in warm]),
        "first tokens": first_tokens(run),
        "bytes": run.engine.nbytes(),
        "by kind": {
            k: quantiles([t for t, its in zip(both, kind, strict=True) if its == k])
            | {"share": kind.count(k) / len(kind)}
            for k in sorted(set(kind))
        },
    }


def same_masks(ours: Run, peer: Run, which: str) -> float | None:
    """Average of ours over average of the peer's, over the masks that both made."""
    mine, theirs = getattr(ours, which), getattr(peer, which)
    pairs = [p for i in mine.keys() & theirs.keys() for p in zip(mine[i], theirs[i], strict=False)]
    return sum(sum(m) for m, _ in pairs) / sum(sum(t) for _, t in pairs) if pairs else None


def encode(tokenizer, vocab, text: str) -> tuple[list[int], list[int]]:
    """(tokens, the offset in the text's bytes at which each begins); the tokens spell the text exactly."""
    tokens = tokenizer.encode(text, add_special_tokens=False)
    spelled = [vocab.token_bytes(token) for token in tokens]
    if b"".join(spelled) != text.encode():
        raise ValueError("this tokenizer does not spell the text as it is; the benchmark needs one that does")
    return tokens, [0, *itertools.accumulate(map(len, spelled))][:-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "notation", "tokenizer"):
        parser.add_argument(name)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--engines", default=",".join(kind.name for kind in ENGINES))
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    corpus = load_corpus(args.corpus)
    tokenizer, vocab, _ = load_tokenizer(args.tokenizer)
    encoded = [encode(tokenizer, vocab, text) for text in corpus.texts]
    named = [kinds(corpus.name, text, at) for text, (_, at) in zip(corpus.texts, encoded, strict=True)]
    texts = [tokens for tokens, _ in encoded]
    runs = start_engines(args.engines.split(","), tokenizer, vocab, corpus.name)
    for run in runs:
        source = (args.notation, corpus.grammar(args.notation, run.engine.name), corpus.name)
        compile_grammar(run, source)
    if args.again:
        few = list(itertools.islice(itertools.accumulate(map(len, texts)), len(texts)))
        texts = texts[: 1 + sum(total < FIRST for total in few)]
        one_pass(runs, texts, args.seconds, "cold")
        result = {
            run.engine.name: {
                "first tokens": first_tokens(run),
                "compile + first mask": run.compiled + run.cold[0][0][0] if run.cold else None,
            }
            for run in runs
        }
    else:
        for text in corpus.texts:
            corpus.oracle(text)
        one_pass(runs, texts, args.seconds, "cold")
        one_pass(runs, texts, args.seconds, "warm")
        ours = next((run for run in runs if run.engine.name == "grammarlm"), None)
        result = {"tokens": sum(map(len, texts)), "texts": len(texts), "vocabulary": vocab.size}
        result["engines"] = {run.engine.name: figures(run, named) for run in runs}
        result["ratios"] = {
            run.engine.name: {which: same_masks(ours, run, which) for which in ("cold", "warm")}
            for run in runs
            if ours and run is not ours
        }
    args.into.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
