"""Masks of a batch with one thread and with two: 64 texts at different positions, every row cold.

usage: python -m benchmarks.grammar_threads [--tokenizer llama3_1] [--repeats 5] [--batch 64]

For each measurement the grammar is compiled anew, with nothing of it on the disk, and the matchers are advanced, without masks, to
positions spread over the texts; then one call fills all rows. One and two threads take turns, each repeat with positions of its own
that both use. Beside it stands the same batch once more, when every row is known. Ours is gl.fill_masks(threads=), also with None,
where it chooses itself; llguidance its LLExecutor, xgrammar its BatchGrammarMatcher.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import grammarlm as gl
from benchmarks.corpora import load as load_corpus
from benchmarks.grammar_peers import LLGuidanceGrammars, OurGrammars, XGrammarGrammars
from benchmarks.grammar_walk import Run, compile_grammar, encode
from benchmarks.report import table, write
from benchmarks.scout import forget
from benchmarks.tokenizers import load as load_tokenizer

CASES = (("json", "lark"), ("c_like", "lark"), ("sql", "lark"), ("settings", "ebnf"))
THREADS = (1, 2)
CHOSEN = None  # by the engine itself


def fill_ours(engine: OurGrammars, threads: int | None, batch: int):
    mask = gl.allocate_mask(batch, engine.vocab.size)
    return lambda matchers: gl.fill_masks(matchers, mask, threads=threads)


def fill_llguidance(engine: LLGuidanceGrammars, threads: int, batch: int):
    import llguidance.numpy

    executor = engine.module.LLExecutor(num_threads=threads)
    mask = llguidance.numpy.allocate_token_bitmask(batch, engine.tokenizer.vocab_size)

    def fill(matchers: list) -> None:
        llguidance.numpy.fill_next_token_bitmask_par(executor, list(zip(matchers, range(batch), strict=True)), mask)

    return fill


def fill_xgrammar(engine: XGrammarGrammars, threads: int, batch: int):
    many = engine.module.BatchGrammarMatcher(max_threads=threads)
    mask = engine.module.allocate_token_bitmask(batch, engine.row.shape[1] * 32)
    return lambda matchers: many.batch_fill_next_token_bitmask(matchers, mask)


FILLS = ((OurGrammars, fill_ours), (LLGuidanceGrammars, fill_llguidance), (XGrammarGrammars, fill_xgrammar))


def at_positions(engine, texts: list[list[int]], batch: int, shift: int) -> list:
    """One matcher for each row, advanced to its own position."""
    total = sum(map(len, texts))
    matchers = []
    for row in range(batch):
        position = (row * total // batch + shift) % total
        text = 0
        while position >= len(texts[text]):
            position -= len(texts[text])
            text += 1
        getattr(engine, "start_alone", engine.start)()
        if not all(engine.advance(token) for token in texts[text][:position]):
            raise AssertionError(f"{engine.name} refuses a token of text {text}")
        matchers.append(engine.matcher)
    return matchers


def measure(engine, fill, source: tuple[str, str, str], texts: list[list[int]], args) -> dict:
    """Milliseconds of cold and warm batches by threads, medians; the first repeat warms up what all grammars share."""
    each = (*THREADS, CHOSEN) if fill is fill_ours else THREADS
    found: dict = {(state, threads): [] for state in ("cold", "warm") for threads in each}
    for repeat in range(args.repeats + 1):
        for threads in each if repeat % 2 else reversed(each):
            run, engine.matcher = Run(engine), None
            forget(engine)  # an epoch leaves its surveys on the disk when it goes
            shutil.rmtree(Path(os.environ["GRAMMARLM_CACHE"], "surveys"), ignore_errors=True)
            compile_grammar(run, source)
            if run.outcome != "ok":
                return {"outcome": run.outcome, "detail": run.detail}
            matchers, call = at_positions(engine, texts, args.batch, 7 * repeat), fill(engine, threads, args.batch)
            for state in ("cold", "warm"):
                begin = time.perf_counter()
                call(matchers)
                if repeat:
                    found[state, threads].append((time.perf_counter() - begin) * 1e3)
    medians = {f"{state} {threads}": statistics.median(times) for (state, threads), times in found.items()}
    return {"outcome": "ok", **medians}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="llama3_1")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--corpora", nargs="*", default=[corpus for corpus, _ in CASES])
    parser.add_argument("--engines", default=",".join(kind.name for kind, _ in FILLS))
    args = parser.parse_args()
    tokenizer, vocab, name = load_tokenizer(args.tokenizer)
    engines = [(kind(tokenizer, vocab), fill) for kind, fill in FILLS if kind.name in args.engines.split(",")]
    for engine, fill in engines:  # kernels and tries, which are made once a process
        run = Run(engine)
        compile_grammar(run, ("lark", 'start: "a" B\nB: /b+/\n', "warm-up"))
        if run.outcome == "ok":
            fill(engine, 2, 1)(at_positions(engine, [encode(tokenizer, vocab, "abb")[0]], 1, 0))
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GRAMMARLM_CACHE"] = cache
        compare(args, engines, tokenizer, vocab, name)


def compare(args: argparse.Namespace, engines: list, tokenizer, vocab, name: str) -> None:
    rows, figures = [], {}
    for corpus_name, notation in CASES:
        if corpus_name not in args.corpora:
            continue
        corpus = load_corpus(corpus_name)
        texts = [encode(tokenizer, vocab, text)[0] for text in corpus.texts]
        for engine, fill in engines:
            source = (notation, corpus.grammar(notation, engine.name), corpus_name)
            found = measure(engine, fill, source, texts, args)
            figures[f"{corpus_name} {notation}: {engine.name}"] = found
            rows.append([f"{corpus_name} {notation}", engine.name, found["outcome"], *cells(found)])
            print(*rows[-1], flush=True)
    header = [
        "grammar",
        "engine",
        "outcome",
        *(f"{s}, {t} thread{'s' * (t > 1)}, ms" for s in ("cold", "warm") for t in THREADS),
        "cold, one over two",
        "cold, threads=None, ms",
    ]
    text = f"{args.batch} rows in one call, tokenizer {name}, medians of {args.repeats}.\n\n"
    text += table(header, rows)
    if any(f["outcome"] == "ok" for key, f in figures.items() if key.endswith(": grammarlm")):
        write(
            "grammar_threads",
            "Batches of masks with one thread and with two",
            {"tokenizer": name, "figures": figures},
            text,
        )
    else:
        print(text)


def cells(found: dict) -> list[str]:
    if found["outcome"] != "ok":
        return ["-"] * 6
    times = [found[f"{state} {threads}"] for state in ("cold", "warm") for threads in THREADS]
    chosen = found.get(f"cold {CHOSEN}")
    return [*(f"{t:.3g}" for t in times), f"{times[0] / times[1]:.2f}", "-" if chosen is None else f"{chosen:.3g}"]


if __name__ == "__main__":
    main()
