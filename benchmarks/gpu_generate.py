"""What a constraint costs while a model generates on a GPU: generate() against transformers' own loop and others' processors.

usage: python -m benchmarks.gpu_generate [--batches 1 8 64] [--tokens 96] [--rounds 3]      (make gpu; exit code 2 where there is no
CUDA device)

The half-billion model of `benchmarks.generate` with random weights in bfloat16, greedy, under its schema. Wall clock of whole
calls, the device waited for; all ways in turns, round after round. "as it is" has forced runs; elsewhere each token is a forward.
Random weights write long strings: few tokens are forced.
"""

import argparse
import statistics
import sys
import time

import torch

import grammarlm as gl
from benchmarks.generate import PROMPT, SCHEMA, load_model, ours, theirs
from benchmarks.report import table, write


def wall(call) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def ways(model, tokenizer, batch: int, tokens: int):
    found = {**theirs(model, tokenizer, batch, tokens), **ours(model, tokenizer, batch, tokens)}
    whole = {"tokenizer": tokenizer, "max_tokens": tokens, "close": False, "schema": gl.JsonSchema(SCHEMA)}
    found["generate, as it is"] = lambda: gl.generate(model, [PROMPT] * batch, **whole)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 8, 64])
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("gpu_generate: no CUDA device here; run this on a machine with an NVIDIA GPU", file=sys.stderr)
        return 2
    model, tokenizer = load_model("half")
    model = model.to("cuda", torch.bfloat16)
    rows, figures = [], []
    for batch in options.batches:
        failed = set()
        for name, call in ways(model, tokenizer, batch, 4).items():  # everything is compiled and read once
            try:
                call()
            except Exception as error:
                if "llguidance" not in name:
                    raise
                failed.add(name)  # its masks of some versions stay on the CPU
                print(f"{name}: {type(error).__name__}", file=sys.stderr)
        calls = {
            name: call for name, call in ways(model, tokenizer, batch, options.tokens).items() if name not in failed
        }
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(options.rounds):
            for name, call in calls.items():
                times[name].append(wall(call))
        free = times["transformers, free"]
        for name, found in times.items():
            each = statistics.median(found) / options.tokens * 1e3
            ratio = statistics.median(one / other for one, other in zip(found, free, strict=True))
            rows.append([batch, name, f"{each:.2f}", f"{ratio:.2f}"])
            figures.append({"batch": batch, "way": name, "milliseconds": each, "ratio": ratio})
    note = "Milliseconds for a token of each row, and the whole time over that of transformers without a constraint."
    device = torch.cuda.get_device_name()
    text = f"{device}, CUDA {torch.version.cuda}. {note}\n\n" + table(["batch", "way", "ms a token", "to free"], rows)
    write("gpu_generate", "Generating on a GPU", {"device": device, "runs": figures}, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
