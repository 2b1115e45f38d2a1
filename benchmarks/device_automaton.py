"""Automata over tokens: what they cost to make and to keep, what a batch costs, and how often texts meet an edge that is not there.

usage: python -m benchmarks.device_automaton [--every N] [--items N ...] [--quick]

    finite      regular languages and item sets, made whole: time, states, bytes
    batches     masks and steps of a batch on the CPU: the automaton's kernels, and a loop over matchers, on the same texts
    texts       JSON schemas of MaskBench with their valid instances, and Lark grammars with their corpora: MISS per 1,000 tokens of
                each grammar's first text and of the others, and what a miss costs the host

Each text's masks are compared with a matcher's on the way in --check runs; times are medians. $GRAMMARLM_DATA has maskbench/ and
tokenizers/llama3_1/; without it the embedded model's tokenizer is taken and the schemas are left out.
"""

import argparse
import json
import os
import random
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

import grammarlm as gl
from benchmarks.corpora import load as load_corpus
from benchmarks.report import table, write
from benchmarks.tokenizers import load as load_tokenizer
from grammarlm.layout.csr import FIRST, MISS

REGEXES = {
    "a date": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    "a record": r'\{"name":"[A-Za-z ]{1,20}","n":[0-9]{1,4},"ok":(true|false)\}',
    "a string": r'"([^"\\]|\\["\\nrt])*"',
    "an address": r"[a-z0-9._-]+@[a-z0-9-]+(\.[a-z]{2,6}){1,3}",
}
BATCHES = (1, 16, 64, 256)
LARK = ("c_like", "sql", "json")
LONGEST = 4000  # tokens of a text


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def finite(vocab: gl.Vocabulary, item_counts: list[int]) -> list[dict]:
    """Automata made whole."""
    rows = []
    for name, pattern in REGEXES.items():
        constraint = gl.compile(gl.Regex(pattern), vocab)
        automaton = gl.DeviceAutomaton(constraint)
        taken = seconds(automaton.complete)
        assert automaton.is_complete
        tables = automaton.host.tables
        rows.append(
            {"what": name, "states": tables.states, "edges": tables.edges, "bytes": automaton.nbytes, "seconds": taken}
        )
    codes = gl.Vocabulary([b"<%d>" % i for i in range(2048)] + [b"</s>"], stop_ids=[2048], special_ids=range(2049))
    for count in item_counts:
        items = np.random.default_rng(0).integers(0, 2048, (count, 8))
        constraint = gl.compile(gl.Tokens(items), codes)
        start = time.perf_counter()
        automaton = gl.DeviceAutomaton(constraint)
        taken = time.perf_counter() - start
        shape = {"states": len(automaton.csr.base), "edges": len(automaton.csr.tokens), "bytes": automaton.nbytes}
        rows.append({"what": f"{count:,} items of 8 tokens", **shape, "seconds": taken})
    return rows


def batches(vocab: gl.Vocabulary, repeats: int) -> list[dict]:
    """Microseconds of masks and steps, batch by batch: texts of one regular language at random places."""
    constraint = gl.compile(gl.Regex(REGEXES["a record"] + "+"), vocab)
    automaton = gl.DeviceAutomaton(constraint)
    assert automaton.complete()
    rng, rows = random.Random(0), []
    for size in BATCHES:
        times = timed_batch(automaton, constraint, size, repeats, rng)
        rows.append({"batch": size, **{name: 1e6 * float(np.median(found)) for name, found in times.items()}})
    return rows


def timed_batch(automaton, constraint, size: int, repeats: int, rng: random.Random) -> dict[str, list[float]]:
    texts, matchers = automaton.batch(size), [constraint.matcher() for _ in range(size)]
    mask, own = texts.fill_mask(), gl.allocate_mask(size, automaton.vocab.size)
    times: dict[str, list[float]] = {"mask": [], "advance": [], "matchers' masks": [], "matchers' advance": []}
    for _ in range(repeats):
        times["mask"].append(seconds(lambda: texts.fill_mask(mask)))
        times["matchers' masks"].append(seconds(lambda: gl.fill_masks(matchers, own)))
        assert np.array_equal(mask.numpy(), own), "a wrong mask is not timed"
        tokens = [drawn(rng, row) for row in own]
        ids = torch.tensor(tokens)
        times["advance"].append(seconds(partial(texts.advance_, ids)))
        times["matchers' advance"].append(seconds(partial(advance_each, matchers, tokens)))
        for text, matcher in enumerate(matchers):
            if matcher.is_finished:
                matcher.reset()
                texts.states[text] = automaton.start
    return times


def advance_each(matchers: list, tokens: list[int]) -> None:
    for matcher, token in zip(matchers, tokens, strict=True):
        matcher.advance(token)


def drawn(rng: random.Random, row: np.ndarray) -> int:
    """An allowed token."""
    words = np.flatnonzero(row)
    word = int(words[rng.randrange(len(words))])
    bits = [b for b in range(32) if int(row[word]) >> b & 1]
    return word * 32 + rng.choice(bits)


def walk(automaton, tokens: list[int], matcher=None) -> tuple[int, int, float]:
    """Reads a text: tokens, misses, seconds that the misses cost."""
    texts, missed, cost = automaton.batch(1), 0, 0.0
    for count, token in enumerate(tokens):
        if matcher is not None:
            expected = gl.allocate_mask(1, automaton.vocab.size)
            matcher.fill_mask(expected)
            assert np.array_equal(texts.fill_mask().numpy(), expected), "a wrong mask is not counted"
            assert matcher.advance(token)
        texts.advance_(torch.tensor([token]))
        state = int(texts.states[0])
        if state == MISS:
            missed += 1
            cost += seconds(texts.settle)
            state = int(texts.states[0])
        if state < FIRST:
            return count + 1, missed, cost  # the text is not in the language
    return len(tokens), missed, cost


def read_all(name: str, constraint, all_tokens: list[list[int]], is_checked: bool) -> dict:
    """All texts of one grammar, one after another, in one automaton."""
    automaton = gl.DeviceAutomaton(constraint, states=20_000, edges=1 << 22, rows=512)
    runs = [walk(automaton, tokens[:LONGEST], constraint.matcher() if is_checked else None) for tokens in all_tokens]
    first, others = runs[0], runs[1:]
    return {
        "what": name,
        "texts": len(runs),
        "tokens": sum(r[0] for r in runs),
        "first": [first[1], first[0]],
        "others": [sum(r[1] for r in others), sum(r[0] for r in others)],
        "again": list(walk(automaton, all_tokens[0][:LONGEST])[1::-1]),
        "miss_ms": 1e3 * sum(r[2] for r in runs) / max(1, sum(r[1] for r in runs)),
        "states": automaton.host.tables.states,
        "bytes": automaton.nbytes,
        "restarts": automaton.restarts,
    }


def schemas(vocab: gl.Vocabulary, tokenizer, every: int, is_checked: bool) -> list[dict]:
    """MaskBench, each N-th schema that compiles and has valid instances, which are written with json.dumps."""
    folder, rows = Path(os.environ.get("GRAMMARLM_DATA", "/nonexistent")) / "maskbench", []
    for file in sorted(folder.glob("*.json"))[::every]:
        case = json.loads(file.read_text(encoding="utf-8"))
        texts = [json.dumps(t["data"], indent=None) for t in case["tests"] if t["valid"]]
        try:
            constraint = gl.compile(gl.JsonSchema(case["schema"]), vocab)
        except gl.GrammarError:
            continue
        tokens = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        tokens = [t for t in tokens if t and constraint.matcher().validate(t) == len(t)]
        if tokens:
            rows.append(read_all(file.stem, constraint, tokens, is_checked))
    return rows


def grammars(vocab: gl.Vocabulary, tokenizer, is_checked: bool) -> list[dict]:
    rows = []
    for name in LARK:
        corpus = load_corpus(name)
        tokens = [tokenizer.encode(text, add_special_tokens=False) for text in corpus.texts]
        rows.append(read_all(name, gl.compile(gl.Lark(corpus.grammar("lark")), vocab), tokens, is_checked))
    return rows


def share(pairs: list[list[int]]) -> str:
    """MISS per 1,000 tokens of all, and the median of each."""
    missed, tokens = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    if not tokens:
        return "-"
    each = [1000 * p[0] / p[1] for p in pairs if p[1]]
    return f"{1000 * missed / tokens:.0f} ({np.median(each):.0f})"


def summary(name: str, rows: list[dict]) -> list[str]:
    columns = [share([r[key] for r in rows]) for key in ("first", "others", "again")]
    cost = np.average([r["miss_ms"] for r in rows], weights=[max(1, r["tokens"]) for r in rows])
    size = np.median([r["bytes"] for r in rows])
    states = np.median([r["states"] for r in rows])
    return [
        name,
        len(rows),
        sum(r["tokens"] for r in rows),
        *columns,
        f"{cost:.2f}",
        f"{states:.0f}",
        f"{size / 1e3:,.0f}",
    ]


def shown(figures: dict) -> str:
    parts = [
        "Finite automata, made whole:",
        table(
            ["automaton", "states", "edges", "kB", "seconds"],
            [
                [r["what"], f"{r['states']:,}", f"{r['edges']:,}", f"{r['bytes'] / 1e3:,.0f}", f"{r['seconds']:.3f}"]
                for r in figures["finite"]
            ],
        ),
        "Microseconds a batch on the CPU, medians; matchers one by one in Python beside it:",
        table(
            list(figures["batches"][0]),
            [[row["batch"], *(f"{v:.1f}" for k, v in row.items() if k != "batch")] for row in figures["batches"]],
        ),
        "MISS per 1,000 tokens, of all tokens (and the median grammar's): the first text of each grammar, its other texts after "
        "it, the first text again. A miss is made by the host:",
        table(
            ["grammars", "number", "tokens", "first text", "other texts", "again", "ms a miss", "states", "kB"],
            [summary(name, rows) for name, rows in figures["texts"].items() if rows],
        ),
    ]
    return "\n\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=40, help="take each N-th schema of MaskBench (40)")
    parser.add_argument("--items", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--quick", action="store_true", help="few of everything, nothing written")
    parser.add_argument("--check", action="store_true", help="compare each mask with the matcher's")
    options = parser.parse_args()
    tokenizer, vocab, name = load_tokenizer("llama3_1")
    every, items = (2000, [1000]) if options.quick else (options.every, options.items)
    figures = {
        "tokenizer": name,
        "finite": finite(vocab, items),
        "batches": batches(vocab, 20 if options.quick else 300),
        "texts": {
            "JSON schemas": schemas(vocab, tokenizer, every, options.check),
            **{f"Lark: {r['what']}": [r] for r in grammars(vocab, tokenizer, options.check)},
        },
    }
    if options.quick:
        print(shown(figures))
    else:
        write("device_automaton", "Automata over tokens on the CPU", figures, shown(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
