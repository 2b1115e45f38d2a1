"""apply_mask_ on the CPU beside xgrammar's CPU kernel and a plain copy of the same logits, in one run.

usage: python -m benchmarks.apply_mask_cpu [--effort 1.0]

Each round restores the logits (that is the copy, by one thread) and calls one kernel, then the other; who comes first
alternates, and the ratio is the median of the rounds' own ratios, so that the machine's mood is shared. Both kernels are
called as their users call them, Python included. Each is first compared with the reference, and not timed where it is wrong.

Bias: xgrammar is called as it asks to be, with a torch mask; masks are random, while real ones have runs, which favour the
kernel that skips words (both do). What a machine with many memory channels would gain from threads is not measured: both
kernels use one.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xgrammar

import grammarlm as gl
from benchmarks.report import quantiles, table, write
from grammarlm.kernels.reference import apply_mask as reference

SIZES = ((1, 128256, 1001), (8, 151669, 301), (64, 128256, 101))  # rows, columns, rounds
BARS = {0.001: 0.4, 0.5: 0.4, 0.999: 1.2}  # share of allowed tokens -> largest ratio to xgrammar, for float32
LANES = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
WARM_UP = 5
BUSY = 0.5  # load average above which figures are provisional


def random_mask(rng: np.random.Generator, rows: int, columns: int, density: float) -> np.ndarray:
    bits = np.zeros((rows, -(-columns // 32) * 32), bool)
    bits[:, :columns] = rng.random((rows, columns)) < density
    return np.packbits(bits, axis=1, bitorder="little").view(np.int32)


def is_right(kernel: Callable[[], Any], logits: torch.Tensor, source: torch.Tensor, mask: np.ndarray) -> bool:
    logits.copy_(source)
    kernel()
    forbidden = np.isneginf(reference.apply_mask(np.zeros(source.shape, np.float32), mask))
    want = source.masked_fill(torch.from_numpy(forbidden), -torch.inf)
    return torch.equal(logits.view(LANES[logits.dtype]), want.view(LANES[logits.dtype]))


def nanoseconds(call: Callable[[], Any]) -> int:
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def measure(size: tuple[int, int, int], dtype: torch.dtype, density: float) -> dict[str, Any]:
    """Times in microseconds of one case; a kernel that is wrong has none."""
    rows, columns, rounds = size
    rng = np.random.default_rng(rows)
    source = torch.from_numpy(rng.standard_normal((rows, columns), np.float32)).to(dtype)
    logits, mask = source.clone(), random_mask(rng, rows, columns, density)
    mask_tensor = torch.from_numpy(mask)
    raw, raw_source = (tensor.view(LANES[dtype]).numpy() for tensor in (logits, source))
    kernels = {
        "grammarlm": lambda: gl.apply_mask_(logits, mask),
        "xgrammar": lambda: xgrammar.apply_token_bitmask_inplace(logits, mask_tensor),
    }
    right = {name: is_right(kernel, logits, source, mask) for name, kernel in kernels.items()}
    times: dict[str, list[float]] = {"copy": [], **{name: [] for name in kernels}}
    for i in range(rounds + WARM_UP):
        for name in [*kernels][:: 1 if i % 2 else -1]:
            times["copy"].append(nanoseconds(lambda: np.copyto(raw, raw_source)) / 1e3)
            times[name].append(nanoseconds(kernels[name]) / 1e3)
    times = {name: series[WARM_UP:] for name, series in times.items()}
    case: dict[str, Any] = {
        "rows": rows,
        "columns": columns,
        "dtype": str(dtype).removeprefix("torch."),
        "density": density,
    }
    case["microseconds"] = {n: quantiles(series) if right.get(n, True) else {} for n, series in times.items()}
    if all(right.values()):
        case["ratio"] = float(np.median(np.divide(times["grammarlm"], times["xgrammar"])))
    nbytes = logits.numel() * logits.element_size()
    case["gigabytes_per_second"] = {n: nbytes / q["p50"] / 1e3 for n, q in case["microseconds"].items() if q}
    return case


def row(case: dict) -> list[str]:
    def tails(name: str) -> str:
        found = case["microseconds"][name]
        return f"{found['p50']:.1f} / {found['p99']:.1f}" if found else "wrong"

    bar = f"{BARS[case['density']]}" if case["dtype"] == "float32" else ""
    ratio = f"{case['ratio']:.3f}" if "ratio" in case else ""
    speed = [f"{case['gigabytes_per_second'].get(name, 0):.0f}" for name in ("grammarlm", "copy")]
    size = f"{case['rows']} x {case['columns']:,}"
    return [size, case["dtype"], case["density"], tails("grammarlm"), tails("xgrammar"), ratio, bar, *speed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", type=float, default=1.0, help="times as many rounds")
    effort = parser.parse_args().effort
    load = os.getloadavg()[0]
    sizes = [(rows, columns, max(1, round(rounds * effort))) for rows, columns, rounds in SIZES]
    cases = [measure(size, dtype, density) for size in sizes for dtype in LANES for density in BARS]
    header = [
        "logits",
        "dtype",
        "allowed",
        "grammarlm p50 / p99, us",
        "xgrammar p50 / p99, us",
        "ratio",
        "bar",
        "GB/s",
        "copy, GB/s",
    ]
    notes = [
        "GB/s: the bytes of the logits by the median time. Ratio: the median of paired ratios, one round each. "
        "Where nearly all tokens are allowed a kernel touches few of these bytes.",
        "Bias: " + " ".join(__doc__.partition("Bias: ")[2].split()),
        f"The load average of the machine before the run was {load:.1f}"
        + (": other programs shared it, so these figures are provisional." if load > BUSY else "."),
    ]
    text = "\n\n".join([table(header, [row(case) for case in cases]), *notes])
    write("apply_mask_cpu", "apply_mask_ on the CPU", {"load_average": load, "cases": cases}, text)


if __name__ == "__main__":
    main()
