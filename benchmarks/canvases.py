"""Canvases of 256 positions over real schemas and instances: what a step of a diffusion model costs, by what it does.

usage: python -m benchmarks.canvases [--tokenizer llama3_1] [--cases 50] [--quick]

Cases are schemas of MaskBench, half of them with an object whose keys are free ("open"), each with a valid instance of 150 to 255
tokens. A row is the instance, its stop ids, and masks at random positions.

    creation          constraint.canvas(256), of a constraint that has none yet
    all masked        the first question of a constraint: no token is given
    first             a row with 30, 60 or 90 % masked, of which nothing is known: the mask rows of 32 positions
    step              the same after one more token is given: what each step of a model asks
    block             32 positions after a part of the instance, with room for 256 more; all of them masked: the mask row of the
                      first, and of another such block all rows
    fill, sample      60 % masked, random logits
    16 steps over 256 how much longer a step takes that gives 16 tokens than one that gives one; with 32 mask rows

`--quick`: 6 cases. The longest run takes five minutes. Without $GRAMMARLM_DATA there are no schemas.
"""

import argparse
import json
import os
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import grammarlm as gl
from benchmarks.report import quantiles, table, write
from benchmarks.tokenizers import load

LENGTH, ROOM, BLOCK, ROWS, LEAST = 256, 256, 32, 32, 150
LEVELS = 6  # how full a text is where steps are compared
SHARES = (0.3, 0.6, 0.9)
BARS = {  # of a figure: quantile, most milliseconds (or times)
    "creation": (("p50", 45), ("p90", 150), ("p99", 600)),
    "all masked, closed": (("p90", 25),),
    "all masked, open": (("p90", 35),),
    "first": (("p50", 60), ("p99", 900)),
    "step": (("p50", 4), ("p99", 50), ("max", 150)),
    "block": (("p99", 5),),
    "block, all rows": (("p99", 35),),
    "fill, finite": (("p50", 45),),
    "fill, with a stack": (("p50", 110),),
    "sample": (("p50", 130),),
    "16 steps over 256": (("p50", 2),),
}


@dataclass
class Case:
    name: str
    grammar: gl.JsonSchema
    tokens: list[int]
    is_open: bool


def is_open(schema) -> bool:
    """Is there an object whose keys are free?"""
    if isinstance(schema, list):
        return any(map(is_open, schema))
    if not isinstance(schema, dict):
        return False
    has_keys = schema.get("type") == "object" or "properties" in schema
    return (has_keys and schema.get("additionalProperties") is not False) or any(map(is_open, schema.values()))


def reads(constraint: gl.Constraint, tokens: list[int]) -> bool:
    matcher = constraint.matcher()
    return all(matcher.advance(token) for token in tokens) and matcher.is_accepting


def cases(vocab: gl.Vocabulary, count: int) -> Iterator[Case]:
    """Open and closed in turn, in an order that hangs on the names of the files alone."""
    files = sorted(
        (Path(os.environ["GRAMMARLM_DATA"]) / "maskbench").glob("*.json"), key=lambda f: zlib.crc32(f.name.encode())
    )
    wanted = {True: count - count // 2, False: count // 2}
    for file in files:
        case = json.loads(file.read_text(encoding="utf-8"))
        kind = is_open(case["schema"])
        texts = [json.dumps(test["data"], ensure_ascii=False) for test in case.get("tests", ()) if test["valid"]]
        texts = [text for text in texts if 200 < len(text) < 1200]
        if not texts or not wanted[kind]:
            continue
        tokens = [int(token) for token in vocab.encode(max(texts, key=len))]
        if not LEAST <= len(tokens) < LENGTH:
            continue
        grammar = gl.JsonSchema(case["schema"])
        try:
            constraint = gl.compile(grammar, vocab)
        except (gl.GrammarError, gl.UnsupportedFeature, gl.LimitExceeded):
            continue
        if reads(constraint, tokens):
            wanted[kind] -= 1
            yield Case(file.name, grammar, tokens, kind)
        if not any(wanted.values()):
            return


class Times:
    """Milliseconds by figure, and what failed."""

    def __init__(self) -> None:
        self.of: dict[str, list[float]] = {}
        self.failed: list[str] = []

    def take(self, figure: str, call):
        begun = time.perf_counter()
        found = call()
        self.of.setdefault(figure, []).append(1e3 * (time.perf_counter() - begun))
        return found


def ask(canvas, row: list[int], positions: list[int]) -> None:
    allowed = canvas.allowed(row)
    for position in positions:
        allowed.row(position)


def some(rng: np.random.Generator, row: list[int]) -> list[int]:
    """Up to 32 masked positions."""
    masked = [i for i, token in enumerate(row) if token < 0]
    return [int(i) for i in rng.choice(masked, min(ROWS, len(masked)), replace=False)]


def per_step(canvas, row: list[int], each: int, rng: np.random.Generator) -> float:
    """Milliseconds of a step after `each` tokens were given at once, the median over a text that is filled in a random order."""
    order, times = rng.permutation(LENGTH).tolist(), []
    for given in range(16, LENGTH - 16, LENGTH // LEVELS):
        here = [-1] * LENGTH
        for position in order[:given]:
            here[position] = row[position]
        ask(canvas, here, some(rng, here))
        for position in order[given : given + each]:
            here[position] = row[position]
        positions, begun = some(rng, here), time.perf_counter()
        ask(canvas, here, positions)
        times.append(1e3 * (time.perf_counter() - begun))
    return float(np.median(times))


def measure(case: Case, vocab: gl.Vocabulary, logits: np.ndarray, times: Times, rng: np.random.Generator) -> None:
    constraint, stop = gl.compile(case.grammar, vocab), min(vocab.stop_ids)
    row = case.tokens + [stop] * (LENGTH - len(case.tokens))
    canvas = times.take("creation", lambda: constraint.canvas(LENGTH))
    kind = "open" if case.is_open else "closed"
    times.take(f"all masked, {kind}", lambda: canvas.allowed([-1] * LENGTH).row(0))
    for share in SHARES:
        partial = [-1 if hidden else token for token, hidden in zip(row, rng.random(LENGTH) < share, strict=True)]
        positions = some(rng, partial)
        times.take(f"first, {share:.0%} masked", lambda: ask(canvas, partial, positions))  # noqa: B023
        partial[positions[0]] = row[positions[0]]
        times.take(f"step, {share:.0%} masked, {kind}", lambda: ask(canvas, partial, positions))  # noqa: B023
    for figure, asked in (("block", [0]), ("block, all rows", list(range(BLOCK)))):
        matcher = constraint.matcher()
        for token in case.tokens[: int(rng.integers(0, len(case.tokens)))]:
            matcher.advance(token)
        block = constraint.canvas(BLOCK, after=matcher, room=ROOM)
        times.take(figure, lambda: ask(block, [-1] * BLOCK, asked))  # noqa: B023
    partial = [-1 if hidden else token for token, hidden in zip(row, rng.random(LENGTH) < SHARES[1], strict=True)]
    times.take("fill, with a stack" if case.is_open else "fill, finite", lambda: canvas.fill(partial, logits))
    times.take("sample", lambda: canvas.sample(partial, logits, seed=1))
    few, many = (per_step(canvas, row, each, rng) for each in (LENGTH // 16, 1))
    times.of.setdefault("16 steps over 256", []).append(few / many)


def report(times: Times, count: int) -> str:
    for figure in ("first", "step"):
        times.of[figure] = [ms for name, of in times.of.items() if name.startswith(f"{figure}, ") for ms in of]
    rows = []
    for name in sorted(times.of):
        found, bars = quantiles(times.of[name]), BARS.get(name, ())
        said = ", ".join(f"{at} {found[at]:.2f} of {most}: {'yes' if found[at] <= most else 'NO'}" for at, most in bars)
        rows.append([name, len(times.of[name]), *(f"{found[at]:.2f}" for at in ("p50", "p90", "p99", "max")), said])
    failed = "".join(f"\n- {line}" for line in times.failed)
    return (
        f"{count} schemas of MaskBench with an instance of {LEAST} to {LENGTH - 1} tokens, rows of {LENGTH}; milliseconds.\n\n"
        + table(["", "times", "p50", "p90", "p99", "max", "bar"], rows)
        + (f"\n\nNot answered ({len(times.failed)}):\n{failed}" if failed else "")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="llama3_1")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if not os.environ.get("GRAMMARLM_DATA"):
        print("GRAMMARLM_DATA does not say where MaskBench and the tokenizers are")
        return
    vocab = load(options.tokenizer)[1]
    warm = gl.compile(gl.JsonSchema({"type": "object"}), vocab).canvas(BLOCK)
    logits = np.random.default_rng(0).standard_normal((LENGTH, vocab.size), dtype=np.float32)
    warm.sample([-1] * BLOCK, logits[:BLOCK], seed=1)  # kernels are loaded, and what is made once a vocabulary
    begun = [int(token) for token in vocab.encode('{"a": 1, "b"')]
    ask(warm, begun + [-1] * (BLOCK - len(begun)), [len(begun)])
    times, rng = Times(), np.random.default_rng(256)
    found = list(cases(vocab, 6 if options.quick else options.cases))
    for number, case in enumerate(found, 1):
        begun = time.perf_counter()
        try:
            measure(case, vocab, logits, times, rng)
        except (gl.GrammarError, gl.UnsupportedFeature, gl.LimitExceeded) as error:
            times.failed.append(f"{case.name}: {error!r:.160}")
        print(
            f"{number} of {len(found)}: {case.name}, {time.perf_counter() - begun:.1f} s", file=sys.stderr, flush=True
        )
    figures = {name: quantiles(of) for name, of in times.of.items()}
    write(
        "canvases",
        "Canvases over JSON Schemas",
        {"figures": figures, "failed": times.failed},
        report(times, len(found)),
    )


if __name__ == "__main__":
    main()
