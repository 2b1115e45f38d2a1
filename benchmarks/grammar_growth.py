"""Does a mask cost more the longer the text is? Mask + advance along one output of 10,000 tokens, by thousands.

usage: python -m benchmarks.grammar_growth [--tokenizer llama3_1] [--tokens 10000] [--seconds 60] [--engines ...]

The text is one of the corpus's generator, long enough, cut at the last token. Beside the times stand the bytes that our constraint
keeps and the growth of the process; an engine that needs more than its seconds is cut off there.
"""

import argparse
import random
import resource
import time
from pathlib import Path

from benchmarks.corpora import load as load_corpus
from benchmarks.grammar_peers import ENGINES
from benchmarks.grammar_walk import Run, Stopped, compile_grammar, encode, start_engines
from benchmarks.report import quantiles, table, write
from benchmarks.tokenizers import load as load_tokenizer

CASES = (("json", "lark"), ("c_like", "lark"), ("sql", "lark"), ("python", "lark"), ("settings", "ebnf"))
PART = 1000


def long_tokens(corpus, tokenizer, vocab, tokens: int) -> list[int]:
    size = tokens * 3
    while True:
        found, _ = encode(tokenizer, vocab, corpus.generate(random.Random("long"), size))
        if len(found) >= tokens:
            return found[:tokens]
        size *= 2


def resident() -> float:
    """The size of this process in MB, now where Linux tells, else its largest so far."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def grow(run: Run, tokens: list[int], seconds: float) -> list[dict]:
    """Figures of each part of the text that was finished in time."""
    parts: list[dict] = []
    engine, limit = run.engine, time.perf_counter() + seconds
    engine.start()
    before = resident()
    for begin in range(0, len(tokens), PART):
        times = []
        for token in tokens[begin : begin + PART]:
            start = time.perf_counter_ns()
            engine.mask()
            masked = time.perf_counter_ns()
            allowed = engine.allowed(token)
            resumed = time.perf_counter_ns()
            taken = engine.advance(token)
            times.append((masked - start + time.perf_counter_ns() - resumed) / 1e3)
            if not allowed or not taken:
                raise Stopped("error" if engine.fault() else "wrong", f"token {begin + len(times) - 1}")
            if time.perf_counter() > limit:
                run.stop("timeout", f"after {begin + len(times)} tokens")
                break
        parts.append(quantiles(times) | {"bytes": engine.nbytes(), "grown": resident() - before})
        if run.outcome == "timeout":
            break
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="llama3_1")
    parser.add_argument("--tokens", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--corpora", nargs="*", default=[corpus for corpus, _ in CASES])
    parser.add_argument("--engines", default=",".join(kind.name for kind in ENGINES))
    args = parser.parse_args()
    tokenizer, vocab, name = load_tokenizer(args.tokenizer)
    rows, figures, ours = [], {}, False
    for corpus_name, notation in CASES:
        if corpus_name not in args.corpora:
            continue
        corpus = load_corpus(corpus_name)
        tokens = long_tokens(corpus, tokenizer, vocab, args.tokens)
        for run in start_engines(args.engines.split(","), tokenizer, vocab, corpus_name):
            compile_grammar(run, (notation, corpus.grammar(notation, run.engine.name), corpus_name))
            parts: list[dict] = []
            if run.outcome == "ok":
                try:
                    parts = grow(run, tokens, args.seconds)
                except Stopped as stopped:
                    run.stop(*stopped.args)
            ours |= bool(parts) and run.engine.name == "grammarlm"
            key = f"{corpus_name} {notation}"
            figures[f"{key}: {run.engine.name}"] = {"outcome": run.outcome, "detail": run.detail, "parts": parts}
            rows.append([key, run.engine.name, run.outcome, *summary(parts)])
            print(*rows[-1], flush=True)
    header = [
        "grammar",
        "engine",
        "outcome",
        "p50 of each 1,000",
        "avg of each 1,000",
        "p99 of each 1,000",
        "MB kept",
        "MB grown",
    ]
    text = f"One output of {args.tokens:,} tokens, tokenizer {name}, microseconds of mask + advance.\n\n" + table(
        header, rows
    )
    if ours:
        write("grammar_growth", "Mask time along a long output", {"tokenizer": name, "figures": figures}, text)
    else:
        print(text)


def summary(parts: list[dict]) -> list[str]:
    if not parts:
        return ["-"] * 5
    kept = parts[-1]["bytes"]
    shown = [" ".join(f"{part[key]:.3g}" for part in parts) for key in ("p50", "avg", "p99")]
    return [*shown, f"{kept / 2**20:.1f}" if kept is not None else "-", f"{parts[-1]['grown']:.0f}"]


if __name__ == "__main__":
    main()
