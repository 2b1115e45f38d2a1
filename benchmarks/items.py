"""Item sets: the time of a search's levels, memory and build, beside a torch search after STATIC's published description.

usage: python -m benchmarks.items [--items 1e5 1e6 1e7 2e7] [--searches 40] [--static PATH]

2 searches of 70 beams, random items of 8 tokens. A run is a whole search over fresh random logits, level by level; both engines get
the same log-probabilities in turn, and what they keep is compared before a time counts. Times are medians over the runs, each level
seen once a run, so its rows come from memory and not from a cache that the last call has filled.

Bias: the baseline is ours, from the paper's description; it has the best conditions that it allows (its rows are sorted before, its
tables are made by numpy). Items are random, so levels behind the third have one child a beam; real sets share more. Logits cost
nothing here.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import grammarlm as gl
from benchmarks.items_static import StaticClone
from benchmarks.items_torch import TorchTrie
from benchmarks.report import table, write
from grammarlm.decoding import beam_search
from grammarlm.layout.items import Beams, Level
from grammarlm.retrieval.item_set import ItemSet
from grammarlm.retrieval.item_step import item_step
from grammarlm.retrieval.levels import NO_PENALTIES, NONE
from grammarlm.retrieval.search import Searched

SEARCHES, BEAMS, LENGTH = 2, 70, 8
SMALL = 2048  # the vocabulary of the grid
LARGE = ((131_072, 1_000_000), (262_144, 1_000_000))  # further vocabularies, and how many items
REPEATS = 30
BUSY = 0.5  # load average above which figures are provisional


def timed(call: Any) -> tuple[float, Any]:
    """Microseconds, and what it returned."""
    start = time.perf_counter_ns()
    result = call()
    return (time.perf_counter_ns() - start) / 1e3, result


def random_items(count: int, vocabulary: int) -> np.ndarray:
    kind = np.uint16 if vocabulary <= 2**16 else np.int32
    return np.random.default_rng(count).integers(0, vocabulary, (count, LENGTH), kind)


def building(count: int, vocabulary: int) -> dict[str, float]:
    """What it takes to make a set of a matrix, in this process, which has done nothing else."""
    matrix = random_items(count, vocabulary)
    ItemSet(gl.Tokens(matrix[:100]))
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    start, used = time.perf_counter(), time.process_time()
    index = ItemSet(gl.Tokens(matrix)).segments[0].index
    seconds, used = time.perf_counter() - start, time.process_time() - used
    order = 0 if index.order is None else index.order.nbytes
    lines = Path("/proc/self/status").read_text().splitlines()  # getrusage would tell of the parent's peak, too
    most = next(int(line.split()[1]) * 1024.0 for line in lines if line.startswith("VmHWM"))
    return {
        "build_seconds_per_million": seconds / count * 1e6,
        "build_cpu_seconds_per_million": used / count * 1e6,
        "extra_megabytes_per_million": (most - before - index.nbytes) / count,
        "bytes_an_item": (index.nbytes - order) / count,
        "order_bytes_an_item": order / count,
    }


def built_apart(count: int, vocabulary: int) -> dict[str, float]:
    """The same in a process of its own, since only there the most memory is that of the build."""
    command = [sys.executable, "-m", "benchmarks.items", "--build", str(count), str(vocabulary)]
    result: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


class Ours:
    """A search by grammarlm, one call a level."""

    def __init__(self, items: ItemSet):
        self.searched = Searched.of(items, [None] * SEARCHES)
        self.out = [Beams.empty(SEARCHES, BEAMS, 1) for _ in range(2)]

    def begin(self) -> None:
        self.beams, self.depth = self.searched.roots(ends_are_free=True), 0
        self.beams.rows[:, 0] = np.arange(SEARCHES)

    def step(self, log_p: torch.Tensor) -> None:
        level = Level(self.depth, BEAMS, -1, log_p.numpy(), NONE, NO_PENALTIES)
        item_step(self.searched.sets, self.beams, level, self.out[self.depth % 2])

    def go_on(self) -> Beams:
        self.beams = self.out[self.depth % 2]
        self.depth += 1
        return self.beams

    @property
    def children(self) -> float:
        """How many rows an entry has, on average."""
        ranges = self.beams.ranges[:, : self.beams.counts[0], 0]
        return float((ranges[..., 1] - ranges[..., 0]).mean())


class Baseline:
    """The same by the torch trie."""

    def __init__(self, trie: TorchTrie):
        self.trie = trie

    def begin(self) -> None:
        self.scores, self.states, self.depth = torch.zeros(SEARCHES, 1), torch.zeros(SEARCHES, dtype=torch.int64), 0

    def children(self, log_p: torch.Tensor) -> Any:
        return self.trie.children(self.depth, self.states, log_p)

    def best(self, children: Any) -> Any:
        return self.trie.best(self.scores, children, BEAMS)

    def go_on(self, best: Any, ours: Beams) -> bool:
        """Goes on from the same prefixes in the same order, which float32 may have turned round; are they as good?"""
        scores, _ = best
        rows = ours.ranges[:, :, 0, 0].ravel()
        self.states = torch.from_numpy(np.searchsorted(self.trie.first_rows[self.depth], rows, side="right") - 1)
        self.scores = torch.from_numpy(ours.scores.astype(np.float32))
        self.depth += 1
        return bool(np.allclose(ours.scores, scores.numpy(), atol=1e-4))


def again(call: Any) -> float:
    """Microseconds of a call whose data the calls before have left in the caches: the median of many."""
    return float(np.median([timed(call)[0] for _ in range(REPEATS)]))


def run(
    ours: Ours, baseline: Baseline | None, vocabulary: int, generator: torch.Generator, repeated: bool = False
) -> list[dict[str, float]]:
    """One search by both: microseconds of each level. RuntimeError where they disagree."""
    ours.begin()
    if baseline is not None:
        baseline.begin()
    rows, levels = SEARCHES, []
    for depth in range(LENGTH):
        logits = torch.randn(rows, vocabulary, generator=generator)
        times: dict[str, float] = {}
        times["log_softmax"], log_p = timed(lambda x=logits: torch.log_softmax(x, -1))
        times["topk"], _ = timed(lambda p=log_p: p.reshape(SEARCHES, -1).topk(BEAMS, dim=1))
        times["rows an entry"] = ours.children if depth else float(len(ours.searched.segments[0]))
        times["ours"], _ = timed(lambda p=log_p: ours.step(p))
        if repeated:
            times["ours again"] = again(lambda p=log_p: ours.step(p))
        kept = ours.go_on()
        if baseline is not None:
            times["torch children"], children = timed(lambda p=log_p: baseline.children(p))
            times["torch best"], best = timed(lambda c=children: baseline.best(c))
            if repeated:
                times["torch children again"] = again(lambda p=log_p: baseline.children(p))
                times["torch best again"] = again(lambda c=children: baseline.best(c))
            if not baseline.go_on(best, kept):
                raise RuntimeError(f"the searches disagree at level {depth}: nothing is timed")
        rows = SEARCHES * BEAMS
        levels.append(times)
    return levels


def whole_search(items: ItemSet, vocabulary: int, count: int) -> tuple[float, list[torch.Tensor], set]:
    """Median microseconds of beam_search, log-softmax and everything; the logits, which are there already; what is found."""
    tables = [torch.randn(SEARCHES * BEAMS if depth else SEARCHES, vocabulary) for depth in range(LENGTH)]

    def search() -> Any:
        waiting = iter(tables)
        return beam_search(lambda tokens, parents: next(waiting), items, BEAMS, batch=SEARCHES)

    times = [timed(search)[0] for _ in range(count)]
    return float(np.median(times)), tables, {item for result in search() for item in result.tokens}


def measure(
    count: int, vocabulary: int, searches: int, static: StaticClone | None, with_baseline: bool
) -> dict[str, Any]:
    case: dict[str, Any] = {"items": count, "vocabulary": vocabulary, **built_apart(count, vocabulary)}
    matrix = random_items(count, vocabulary)
    items = ItemSet(gl.Tokens(matrix))
    baseline = None
    if with_baseline:
        matrix = matrix[items.segments[0].index.numbers()]  # its build begins with sorted rows
        seconds, trie = timed(lambda: TorchTrie(matrix, vocabulary))
        case["torch_build_seconds_per_million"] = seconds / count
        case["torch_bytes_an_item"] = trie.nbytes / count
        baseline = Baseline(trie)
    if static is not None:
        seconds, _ = timed(lambda: static.index(matrix, vocabulary))
        case["static"] = {"build_seconds_per_million": seconds / count, "bytes_an_item": static.nbytes / count}
    generator = torch.Generator().manual_seed(0)
    ours = Ours(items)
    runs = [run(ours, baseline, vocabulary, generator) for _ in range(searches + 3)][3:]
    case["levels"] = [
        {name: float(np.median([r[depth][name] for r in runs])) for name in runs[0][0]} for depth in range(LENGTH)
    ]
    for level, more in zip(case["levels"], run(ours, baseline, vocabulary, generator, repeated=True), strict=True):
        level |= {name: value for name, value in more.items() if name.endswith("again")}
    case["search"], tables, found = whole_search(items, vocabulary, searches)
    if static is not None:
        case["static"] |= static_search(static, tables, found, searches)
    return case


def static_search(static: StaticClone, tables: list[torch.Tensor], found: set, searches: int) -> dict[str, Any]:
    """Their search of the same logits; the figures say so where they find other items."""
    times = []
    for _ in range(searches):
        static.steps.clear()
        microseconds, tokens = timed(lambda: static.search(tables, BEAMS))
        times.append((microseconds, static.steps.copy()))
    same = {tuple(row) for row in tokens.reshape(-1, LENGTH).tolist()} == found
    steps = np.median([steps for _, steps in times], axis=0).tolist()
    return {"search": float(np.median([t for t, _ in times])), "sparse steps": steps, "same items": same}


def level_rows(cases: list[dict[str, Any]]) -> list[list[str]]:
    found = []
    for case in cases:
        for depth, level in enumerate(case["levels"]):
            row = [f"{case['items']:,.0f}", f"{case['vocabulary']:,}", str(depth), f"{level['rows an entry']:,.1f}"]
            for how in ("", " again"):
                ours, step, best = (level.get(name + how) for name in ("ours", "torch children", "torch best"))
                row.append(f"{ours:.1f}")
                if step is None:
                    row += ["-"] * 4
                else:
                    row += [f"{step:.0f}", f"{step + best:.0f}", f"{ours / step:.3f}", f"{ours / (step + best):.3f}"]
            floor = level["log_softmax"] + level["topk"]
            whole = (level["log_softmax"] + level["ours"]) / floor
            found.append([*row, f"{level['log_softmax']:.0f}", f"{level['topk']:.0f}", f"{whole:.2f}"])
    return found


def size_rows(cases: list[dict[str, Any]]) -> list[list[str]]:
    found = []
    for case in cases:
        bar = 20 if case["vocabulary"] <= 2**16 else 24
        found.append([
            f"{case['items']:,.0f}", f"{case['vocabulary']:,}", f"{case['bytes_an_item']:.2f} (<= {bar})",
            f"{case['order_bytes_an_item']:.0f}",
            f"{case.get('torch_bytes_an_item', float('nan')):.1f}",
                f"{case['build_cpu_seconds_per_million']:.2f} / {case['build_seconds_per_million']:.2f} (<= 1)",
            f"{case['extra_megabytes_per_million']:.0f} (<= 200)", f"{case['search'] / 1e3:.2f}",
        ])  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=float, nargs="*", default=[1e5, 1e6, 1e7, 2e7])
    parser.add_argument("--searches", type=int, default=40, help="runs whose median is taken")
    parser.add_argument("--threads", type=int, default=1, help="of torch; ours takes one")
    parser.add_argument("--static", help="a clone of the STATIC repository, measured too")
    parser.add_argument(
        "--build", type=int, nargs=2, metavar=("ITEMS", "V"), help="only builds, and prints what that took"
    )
    arguments = parser.parse_args()
    if arguments.build:
        print(json.dumps(building(*arguments.build)))
        return
    torch.set_num_threads(arguments.threads)
    load = os.getloadavg()[0]
    static = StaticClone(arguments.static) if arguments.static else None
    cases = []
    for count in arguments.items:
        cases.append(measure(int(count), SMALL, arguments.searches, static, with_baseline=True))
        print(f"{int(count):,} items: done", file=sys.stderr, flush=True)
    for vocabulary, count in LARGE:
        cases.append(measure(count, vocabulary, max(3, arguments.searches // 4), None, with_baseline=False))
    grid = [case for case in cases if case["vocabulary"] == SMALL]
    growth = grid[-1]["search"] / grid[0]["search"]
    columns = ("ours, us", "torch: children, us", "torch: with top-M, us", "ours / children", "ours / with top-M")
    header = [
        "items", "V", "level", "rows an entry", *columns, *(f"again: {name}" for name in columns),
        "log-softmax, us", "topk, us", "log-softmax + ours over log-softmax + topk (<= 1.15)",
    ]  # fmt: skip
    sizes = [
        "items", "V", "bytes an item", "and of the order", "torch: bytes an item", "build, s of CPU / of the clock per million",
        "extra memory, MB per million", "whole search of 8 levels, ms",
    ]  # fmt: skip
    notes = [
        f"{SEARCHES} x {BEAMS} beams, {LENGTH} tokens an item; medians of {arguments.searches} searches, torch with "
        f"{arguments.threads} thread(s). Ours: children, their scores and top-M, one call from Python. Again: the same call "
        f"repeated {REPEATS} times, its data in the caches, as kernels are usually timed.",
        f"From {grid[0]['items']:,} to {grid[-1]['items']:,} items the whole search takes {growth:.2f} times as long (<= 1.5).",
        "Bias: " + " ".join(__doc__.partition("Bias: ")[2].split()),
        f"The load average before the run was {load:.1f}"
        + (": other programs shared the machine, so these figures are provisional." if load > BUSY else "."),
    ]
    notes += [
        f"The clone of STATIC, {c['items']:,} items: {c['static']['bytes_an_item']:.1f} bytes an item, "
        f"{c['static']['build_seconds_per_million']:.2f} s per million to build, "
        f"whole search {c['static']['search'] / 1e3:.2f} ms, "
        f"sparse steps {', '.join(f'{t:.0f}' for t in c['static']['sparse steps'])} us, "
        f"the same items: {'yes' if c['static']['same items'] else 'NO'}."
        for c in cases
        if "static" in c
    ]
    text = "\n\n".join([table(sizes, size_rows(cases)), table(header, level_rows(cases)), *notes])
    write("items", "Item sets on the CPU", {"load_average": load, "cases": cases, "growth": growth}, text)


if __name__ == "__main__":
    main()
