"""Decode steps inside vLLM: our backend and processor beside vLLM's own backends, and beside no constraint at all.

usage: PYTHONPATH=. .venv-vllm/bin/python -m benchmarks.vllm_steps [--batches 8 64] [--rounds 3]     (make bench-vllm)

Each engine is a process (grammarlm's kernels are the shipped ones), run in turns, `rounds` times. The embedded model, greedy, the
same schema and prompts for all; a step is the wall time of generate over the tokens of the longest answer. "First token": requests
with a schema that nobody has seen, one at a time. "none" has no plug-in; "idle" has processor and backend, and no request asks.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.report import table, write

ENGINES = ("none", "idle", "backend", "processor", "xgrammar", "guidance")
MODEL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "grammarlm", "models", "tiny")
LENGTH, NEW, MARK = 96, 30, "figures: "
STEADY = {
    "type": "object",
    "properties": {"items": {"type": "array", "minItems": 100, "items": {
        "type": "object", "properties": {"name": {"type": "string", "maxLength": 20}, "count": {"type": "integer"},
                                         "tag": {"enum": ["a", "b", "c"]}},
        "required": ["name", "count", "tag"], "additionalProperties": False}}},
    "required": ["items"], "additionalProperties": False,
}  # fmt: skip


def unseen(number: int) -> dict[str, Any]:
    """A schema of 20 properties, of which no other has one."""
    kinds = [
        {"type": "string"},
        {"type": "integer", "minimum": number},
        {"enum": [f"v{number}", "w"]},
        {"type": "boolean"},
    ]
    names = [f"p{number}_{n}" for n in range(20)]
    return {
        "type": "object", "properties": {name: kinds[n % 4] for n, name in enumerate(names)}, "required": names[:10],
        "additionalProperties": False,
    }  # fmt: skip


def child(engine: str, batches: list[int]) -> None:
    os.environ |= {
        "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_LOGGING_LEVEL": "ERROR",
        "GRAMMARLM_VLLM_BACKEND": "1" if engine in ("backend", "idle") else "",
    }  # fmt: skip
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    if engine != "none":
        from grammarlm.integrations.vllm import register

        register()
    options: dict[str, Any] = {}
    if engine in ("processor", "idle"):
        options["logits_processors"] = ["grammarlm.integrations.vllm:LogitsProcessor"]
    if engine in ("xgrammar", "guidance"):
        options["structured_outputs_config"] = {"backend": engine}
    llm = LLM(
        model=MODEL, enforce_eager=True, dtype="float32", max_model_len=256, max_num_seqs=max(batches), seed=0,
        disable_log_stats=True, **options,
    )  # fmt: skip

    def asked(schema: dict[str, Any], tokens: int) -> Any:
        named: dict[str, Any] = {"temperature": 0.0, "max_tokens": tokens}
        if engine in ("none", "idle"):
            return SamplingParams(**named, ignore_eos=True)
        if engine == "processor":
            return SamplingParams(**named, extra_args={"grammarlm": {"schema": schema, "close": False}})
        more = {"grammarlm": {"close": False}} if engine == "backend" else None
        return SamplingParams(**named, structured_outputs=StructuredOutputsParams(json=schema), extra_args=more)

    def seconds(prompts: list[str], params: Any) -> tuple[float, int]:
        start = time.perf_counter()
        found = llm.generate(prompts, params, use_tqdm=False)
        return time.perf_counter() - start, max(len(one.outputs[0].token_ids) for one in found)

    figures: dict[str, Any] = {}
    for batch in batches:
        prompts = [f"Item {n}: 3 apples, " for n in range(batch)]
        seconds(prompts, asked(STEADY, 8))
        took = []
        for _ in range(3):
            whole, count = seconds(prompts, asked(STEADY, LENGTH))
            took.append(whole / count)
        figures[f"step {batch}"] = statistics.median(took)
    firsts = [seconds(["Item: "], asked(unseen(number), 1))[0] for number in range(NEW)]
    figures["first"], figures["slowest first"] = statistics.median(firsts), max(firsts[1:])
    print(MARK + json.dumps(figures))


def run(engine: str, batches: list[int]) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.vllm_steps", "--child", engine, "--batches", *map(str, batches)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in found.stdout.splitlines() if MARK in line]
    if not lines:
        raise SystemExit(found.stdout[-3000:] + found.stderr[-3000:])
    figures: dict[str, float] = json.loads(lines[-1].split(MARK)[1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", nargs="*", type=int, default=[8, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        child(options.child, options.batches)
        return
    found: dict[str, list[dict[str, float]]] = {engine: [] for engine in options.engines}
    for _ in range(options.rounds):
        for engine in options.engines:
            found[engine].append(run(engine, options.batches))
            print(engine, found[engine][-1], flush=True)
    names = [*(f"step {batch}" for batch in options.batches), "first", "slowest first"]
    middle = {
        engine: {name: statistics.median(one[name] for one in each) * 1e3 for name in names}
        for engine, each in found.items()
    }
    rows = [[engine, *(f"{figures[name]:.2f}" for name in names)] for engine, figures in middle.items()]
    head = [
        "engine",
        *(f"step at batch {batch}, ms" for batch in options.batches),
        "first token, unseen schema, ms",
        "slowest, ms",
    ]
    text = table(head, rows)
    print(text)
    write("vllm_steps", "Decode steps inside vLLM", {"milliseconds": middle, "rounds": found}, text)


if __name__ == "__main__":
    main()
