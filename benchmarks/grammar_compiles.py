"""From the text of a grammar to its first mask, over many grammars that no engine has seen.

usage: python -m benchmarks.grammar_compiles [--tokenizer llama3_1] [--grammars 30] [--engines ...]

The grammars are the corpora's and settings languages of 50 to 300 rules, each from its own seed and so different from all others.
Each engine compiles each grammar once and makes its first mask; a text of the language is walked to its end, so that an engine that
has not understood the grammar gets no figure for it. Engines take turns, each behind each other one equally often; what an engine
holds of the grammar before is dropped between the turns.
"""

import argparse
import os
import random
import tempfile
import time

from benchmarks.corpora import device_settings
from benchmarks.corpora import load as load_corpus
from benchmarks.grammar_peers import ENGINES, XGrammarBuiltIn
from benchmarks.grammar_walk import Run, Stopped, compile_grammar, encode, start_engines, walk
from benchmarks.report import quantiles, table, write
from benchmarks.scout import in_turn
from benchmarks.tokenizers import load as load_tokenizer

CORPORA = {"ebnf": (), "gbnf": ("json", "c_like", "arithmetic"), "lark": ("json", "sql", "c_like", "arithmetic")}
SMALLEST, LARGEST = 50, 300  # rules
TEXT = 300  # characters
SPELL = {"lark": device_settings.lark, "ebnf": device_settings.ebnf, "gbnf": device_settings.gbnf}


def grammars(notation: str, count: int) -> list[tuple[str, dict[str, str] | str, str]]:
    """(name, text or text by engine, a text of the language)"""
    found: list[tuple[str, dict[str, str] | str, str]] = []
    for name in CORPORA[notation]:
        corpus = load_corpus(name)
        by_engine = {kind.name: corpus.grammar(notation, kind.name) for kind in ENGINES}
        found.append((name, by_engine, corpus.generate(random.Random(1), TEXT)))
    for index in range(count):
        seed = 1000 * (1 + list(CORPORA).index(notation)) + index
        made = device_settings.language(seed, SMALLEST + (LARGEST - SMALLEST) * index // max(1, count - 1))
        text = device_settings.text_of(made, random.Random(seed), TEXT)
        found.append((f"{len(made.rules)} rules", SPELL[notation](made), text))
    return found


def first_mask(run: Run, source: tuple[str, str, str], tokens: list[int]) -> float | None:
    """Microseconds, or None where the engine refuses the grammar or walks the text wrongly (then run.outcome says so)."""
    run.outcome = "ok"
    compile_grammar(run, source)
    if run.outcome != "ok":
        return None
    try:
        times, _ = walk(run, tokens, time.perf_counter() + 20)
    except Stopped as stopped:
        run.stop(*stopped.args)
        return None
    return run.compiled + times[0][0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="llama3_1")
    parser.add_argument("--grammars", type=int, default=30)
    parser.add_argument("--engines", default=",".join(kind.name for kind in ENGINES if kind is not XGrammarBuiltIn))
    args = parser.parse_args()
    tokenizer, vocab, name = load_tokenizer(args.tokenizer)
    runs = start_engines(args.engines.split(","), tokenizer, vocab, "")
    with tempfile.TemporaryDirectory() as cache:  # an earlier run left these very grammars in the user's
        os.environ["GRAMMARLM_CACHE"] = cache
        compare(args, runs, tokenizer, vocab, name)


def compare(args: argparse.Namespace, runs: list[Run], tokenizer, vocab, name: str) -> None:
    rows, figures, notes = [], {}, []
    for notation in CORPORA:
        times: dict[str, list[float]] = {run.engine.name: [] for run in runs}
        every = grammars(notation, args.grammars)
        for index, (title, text, example) in enumerate(every):
            tokens, _ = encode(tokenizer, vocab, example)
            for run in in_turn(runs, index):
                engine = run.engine.name
                spelled = text if isinstance(text, str) else text[engine]
                found = first_mask(run, (notation, spelled, title), tokens)
                if found is None:
                    notes.append(f"- {notation}, {title}: {engine}: {run.outcome}: {run.detail}")
                else:
                    times[engine].append(found)
        for engine, its in times.items():
            q = quantiles(its)
            figures[f"{notation}: {engine}"] = q | {"grammars": len(its)}
            shown = [f"{q[key] / 1e3:.3g}" if q else "-" for key in ("avg", "p50", "p90", "p99", "max")]
            rows.append([notation, engine, f"{len(its)} of {len(every)}", *shown])
            print(*rows[-1], flush=True)
    text = f"Milliseconds, tokenizer {name}, one thread.\n\n"
    text += (
        table(["notation", "engine", "grammars", "avg", "p50", "p90", "p99", "max"], rows) + "\n\n" + "\n".join(notes)
    )
    if any(key.endswith(": grammarlm") and q["grammars"] for key, q in figures.items()):
        write(
            "grammar_compiles", "From a grammar's text to its first mask", {"tokenizer": name, "figures": figures}, text
        )
    else:
        print(text)


if __name__ == "__main__":
    main()
