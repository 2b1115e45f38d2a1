"""The GPU kernels beside a device copy, torch, torch.compile and xgrammar, on the first CUDA device.

usage: python -m benchmarks.gpu_kernels [--quick] [--sweep] [--only PART] [--batches N ...] [--vocabularies N ...]
       (make gpu; exit code 2 where there is no CUDA device; one PART is written as gpu_kernels_PART)

Each call works on the next of so many batches of logits that together they exceed the L2 cache twice, so logits come from
memory. Before a burst of calls the device spins, while Python queues all of them: times between events, one pair a call,
are the device's own, and what Python costs is measured apart. A result is compared with the plain reference first, and
what is wrong is not timed. The copy moves the logits once each way: a mask that forbids little can beat it.

Bias: masks and logits are random, while masks of real grammars have runs, which favour kernels that skip words. masked_fill
is handed one byte a token, ready made; index_select and scatter one byte a class and indices of 64 bits. scatter_reduce makes the
highest logits only, class_best also the first token that has each, and sums. Classes are random: 60 % of the tokens are in one, and
neighbouring ids in different ones, which is the worst a gather can meet. Logits come from memory here; right after a model's last
layer small batches are in the L2 cache. The torch samplers draw by other random numbers and are checked for allowed tokens only.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.gpu_canvas import COMPARISONS, ClassCase, make_class_case
from benchmarks.gpu_cases import Case, appliers, make_case, masks_rightly, samplers, samples_rightly
from benchmarks.report import quantiles, table, write

BATCHES, VOCABULARIES, DENSITIES = (1, 8, 64, 256), (32_000, 128_256, 262_144), (0.5, 0.001, 0.999)
PEERS_AT = 128_256  # torch.compile takes seconds a shape: only at this vocabulary
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "min_p": {"min_p": 0.05},
    "top_k": {"top_k": 50},
    "top_p": {"top_p": 0.9},
    "top_k, top_p": {"top_k": 50, "top_p": 0.9},
}
CLASSES = (215, 3_564)  # any JSON value; the most of 90 schemas
PARTS = ("apply", "sample", "canvas", "sweep")
SWEEP = [(words, warps) for words in (8, 16, 32, 64, 128, 256) for warps in (1, 2, 4, 8) if words <= 32 * warps]
ROUNDS, BURST, WARM_UP = 200, 20, 10
SLOW = 0.003  # seconds: what takes longer is timed for one burst
SPIN = 10_000_000  # clock cycles, some 6 ms: time enough to queue a burst


def measure(call: Callable[[int], Any], copies: int, rounds: int) -> dict[str, Any]:
    """Microseconds on the device, and of Python, for a call."""
    for i in range(WARM_UP):
        call(i % copies)
    torch.cuda.synchronize()
    start = time.perf_counter()
    call(0)
    torch.cuda.synchronize()
    rounds = rounds if time.perf_counter() - start < SLOW else BURST
    times, python, done = [], [], 0
    while done < rounds:
        torch.cuda.synchronize()
        torch.cuda._sleep(SPIN)
        pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(BURST)]
        for first, last in pairs:
            first.record()
            begun = time.perf_counter_ns()
            call(done % copies)
            python.append((time.perf_counter_ns() - begun) / 1e3)
            last.record()
            done += 1
        torch.cuda.synchronize()
        times += [first.elapsed_time(last) * 1e3 for first, last in pairs]
    return {**quantiles(times), "python": float(np.median(python))}


def compare(
    calls: Mapping[str, Callable], case: Case | ClassCase, right: Callable[[str, Callable], bool], rounds: int
) -> dict[str, dict]:
    """Name -> quantiles; {} for a wrong one, {"error": ...} for one that raised (peers may lack what they need)."""
    copies = len(case.logits)
    found: dict[str, dict] = {
        "copy": measure(lambda i: case.logits[(i + 1) % copies].copy_(case.logits[i]), copies, rounds)
    }
    for name, call in calls.items():
        try:
            found[name] = measure(call, copies, rounds) if right(name, call) else {}
        except Exception as error:
            if name == "grammarlm":
                raise
            found[name] = {"error": f"{type(error).__name__}: {error}"[:200]}
    return found


def run_apply(sizes: list[tuple[int, int]], dtypes: list[str], device: torch.device) -> list[dict]:
    found = []
    for batch, width in sizes:
        for dtype in dtypes:
            for density in DENSITIES:
                case = make_case(batch, width, DTYPES[dtype], density, device)
                calls = appliers(case, width == PEERS_AT)
                times = compare(calls, case, partial(masks_rightly, case), ROUNDS)
                found.append({**case.facts(), "allowed": density, "microseconds": times})
    return found


def run_sample(sizes: list[tuple[int, int]], device: torch.device) -> list[dict]:
    found = []
    for batch, width in sizes:
        case = make_case(batch, width, torch.float32, 0.5, device)
        for filters, settings in FILTERS.items():
            calls = samplers(case, settings, width == PEERS_AT)
            times = compare(calls, case, partial(samples_rightly, case, settings), ROUNDS)
            found.append({**case.facts(), "filters": filters, "microseconds": times})
    return found


def run_canvas(sizes: list[tuple[int, int]], dtypes: list[str], device: torch.device) -> dict[str, list[dict]]:
    """Rows of canvases: the cases of each comparison."""
    found: dict[str, list[dict]] = {name: [] for name in COMPARISONS}
    for batch, width in sizes:
        for dtype in dtypes:
            for classes in CLASSES:
                case = make_class_case(batch, width, DTYPES[dtype], classes, device)
                for name, (calls, right) in COMPARISONS.items():
                    times = compare(calls(case), case, partial(right, case), ROUNDS)
                    found[name].append({**case.facts(), "microseconds": times})
    return found


def run_sweep(sizes: list[tuple[int, int]], device: torch.device) -> list[dict]:
    """apply_mask_ with every number of mask words and warps a program."""
    from grammarlm.kernels.gpu.apply_mask import launch

    def block(case: Case, words: int, warps: int, i: int) -> None:
        launch(case.logits[i], case.mask, None, words, warps)

    found = []
    for batch, width in sizes:
        for dtype in DTYPES.values():
            case = make_case(batch, width, dtype, 0.5, device)
            calls = {f"{words} words, {warps} warps": partial(block, case, words, warps) for words, warps in SWEEP}
            times = compare(calls, case, partial(masks_rightly, case), ROUNDS // 4)
            found.append({**case.facts(), "allowed": 0.5, "microseconds": times})
    return found


def cell(times: dict | None) -> str:
    if times is None:
        return ""
    return f"{times['p50']:.1f} / {times['p99']:.1f}" if "p50" in times else ("error" if times else "wrong")


def as_table(cases: list[dict], what: str) -> str:
    names = list(dict.fromkeys(name for case in cases for name in case["microseconds"]))
    rows = []
    for case in cases:
        times = case["microseconds"]
        ours, copy = times.get("grammarlm", {}), times["copy"]
        beside = [f"{ours['p50'] / copy['p50']:.2f}", f"{ours['python']:.0f}"] if ours else ["", ""]
        size = f"{case['batch']} x {case['vocabulary']:,}"
        rows.append([size, case["dtype"], case[what], *(cell(times.get(name)) for name in names), *beside])
    return table(["logits", "dtype", what, *names, "grammarlm : copy", "grammarlm's Python"], rows)


def as_sweep_table(cases: list[dict]) -> str:
    header = [f"{case['batch']} x {case['vocabulary']:,} {case['dtype']}" for case in cases]
    names = list(cases[0]["microseconds"])
    return table(["", *header], [[name, *(cell(case["microseconds"][name]) for case in cases)] for name in names])


def check_in_interpreter() -> int:
    """Every comparison with the reference, on small batches and the CPU: what can be run where there is no GPU."""
    device = torch.device("cpu")
    for dtype in DTYPES.values():
        case = make_case(2, 2_100, dtype, 0.5, device)
        wrong = [name for name, call in appliers(case, False).items() if not masks_rightly(case, name, call)]
        for filters in FILTERS.values() if dtype is torch.float32 else ():
            calls = samplers(case, filters, False)
            wrong += [name for name, call in calls.items() if not samples_rightly(case, filters, name, call)]
        classes = make_class_case(3, 2_100, dtype, 97, device)
        for calls_of, right in COMPARISONS.values():
            wrong += [name for name, call in calls_of(classes).items() if not right(classes, name, call)]
        if wrong:
            print(f"gpu_kernels: wrong in Triton's interpreter: {', '.join(wrong)}", file=sys.stderr)
            return 1
    print("gpu_kernels: all comparisons with the reference hold in Triton's interpreter; nothing was timed")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two batch sizes, one vocabulary, one dtype")
    parser.add_argument("--sweep", action="store_true", help="block sizes of apply_mask_ too")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--batches", type=int, nargs="+", metavar="N", help="rows of logits")
    parser.add_argument("--vocabularies", type=int, nargs="+", metavar="N", help="columns of logits")
    parser.add_argument("--interpret", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.interpret:
        os.environ["TRITON_INTERPRET"] = "1"  # before anything imports Triton
        return check_in_interpreter()
    if not torch.cuda.is_available():
        print("gpu_kernels: no CUDA device here; run this on a machine with an NVIDIA GPU", file=sys.stderr)
        return 2
    device = torch.device("cuda")
    quick = [(1, PEERS_AT), (64, PEERS_AT)]
    batches = options.batches or ((1, 64) if options.quick else BATCHES)
    vocabularies = options.vocabularies or ((PEERS_AT,) if options.quick else VOCABULARIES)
    sizes = [(batch, width) for batch in batches for width in vocabularies]
    dtypes = ["float32"] if options.quick else list(DTYPES)
    wanted = {options.only} if options.only else set(PARTS) - (set() if options.sweep else {"sweep"})
    nothing = measure(lambda _: None, 1, ROUNDS)
    name, cuda = torch.cuda.get_device_name(device), torch.version.cuda
    apply = run_apply(sizes, dtypes, device) if "apply" in wanted else []
    sample = run_sample(sizes, device) if "sample" in wanted else []
    canvas = run_canvas(sizes, dtypes, device) if "canvas" in wanted else {}
    sweep = run_sweep(quick, device) if "sweep" in wanted else []
    parts = [
        f"{name}, CUDA {cuda}. Microseconds, p50 / p99; an empty pair of events shows {nothing['p50']:.1f}, which every "
        "figure includes.",
    ]
    if apply:
        parts += ["apply_mask_:", as_table(apply, "allowed")]
    if sample:
        parts += ["Mask, temperature 1, filters and draw, half of the tokens allowed:", as_table(sample, "filters")]
    for part, cases in canvas.items():
        parts += [f"Rows of canvases, {part}:", as_table(cases, "classes")]
    if sweep:
        parts += ["apply_mask_ by block size:", as_sweep_table(sweep)]
    parts.append("Bias: " + " ".join((__doc__ or "").partition("Bias: ")[2].split()))
    figures = {
        "device": name, "cuda": cuda, "nothing": nothing, "apply": apply, "sample": sample, "canvas": canvas, "sweep": sweep,
    }  # fmt: skip
    written = f"gpu_kernels_{options.only}" if options.only else "gpu_kernels"
    write(written, "GPU kernels", figures, "\n\n".join(parts), "gpu_kernels")
    cases = [*apply, *sample, *(case for part in canvas.values() for case in part)]
    return int(any(not case["microseconds"]["grammarlm"] for case in cases))


if __name__ == "__main__":
    sys.exit(main())
