"""What a user waits for before the first mask, and what a known mask costs.

usage: python -m benchmarks.start [--tokenizers llama3_1 gemma3] [--kernels shipped numba]

Each start is a new process: once with an empty cache folder (as after the installation: the trie is built, and kernels compile
where none are shipped), then five times with what that left behind; for a regular expression, a JSON schema and a Lark grammar.
Beside it, with kernels compiled ahead of time and by numba in turns: one call of fill_mask and of advance on a state that is known
(medians of batches of 1,000 calls); building the byte trie, and 100,000 choices.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import grammarlm as gl
from benchmarks.report import table, write
from benchmarks.tokenizers import load
from grammarlm.kernels import entries

CHILD = """
import time
start = time.perf_counter()
import grammarlm as gl
vocab = gl.Vocabulary.from_tokenizer({path!r})
matcher, mask = gl.compile({grammar}, vocab).matcher(), gl.allocate_mask(1, vocab.size)
matcher.fill_mask(mask)
print(time.perf_counter() - start)
"""


GRAMMARS = {
    "regex": """gl.Regex("[a-z]+[0-9]{2}")""",
    "JSON schema": """gl.JsonSchema({"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}})""",
    "Lark": """gl.Lark('start: "(" start ")" | /[a-z]+/')""",
}


def environment(kernels: str, **others: str) -> dict[str, str]:
    """Of a user's process: Python keeps what it compiles."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "GRAMMARLM_KERNELS": kernels, **others}


def start(path: str, grammar: str, kernels: str, cache: str) -> float:
    child = subprocess.run(
        [sys.executable, "-c", CHILD.format(path=path, grammar=grammar)],
        env=environment(kernels, GRAMMARLM_CACHE=cache),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(child.stdout)


def starts(name: str, kernels: str) -> list[list[str]]:
    data = os.environ.get("GRAMMARLM_DATA")
    path = (
        os.path.join(data, "tokenizers", name) if data else os.path.join(os.path.dirname(gl.__file__), "models", "tiny")
    )
    rows = []
    for kind, grammar in GRAMMARS.items():
        with tempfile.TemporaryDirectory() as cache:
            first = start(path, grammar, kernels, cache)
            later = [start(path, grammar, kernels, cache) for _ in range(5)]
        rows.append([name, kernels, f"{kind}: first mask after the installation", f"{first:.2f} s"])
        what = f"{kind}: import + first mask in a later process (median, slowest of 5)"
        rows.append([name, kernels, what, f"{statistics.median(later):.2f} s, {max(later):.2f} s"])
    return rows


def batches(call, repeats: int = 30, calls: int = 1000) -> str:
    """Median and largest of the batches' averages, in microseconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) / calls * 1e6)
    return f"{statistics.median(times):.2f} us (slowest batch {max(times):.2f})"


def known_states(name: str, kernels: str) -> list[list[str]]:
    """Both calls in a process of its own, which loads one kind of kernels."""
    command = [sys.executable, "-m", "benchmarks.start", "--known", name]
    child = subprocess.run(command, env=environment(kernels), capture_output=True, text=True, check=True)
    return [[name, kernels, *row] for row in json.loads(child.stdout)]


def known_state(name: str) -> list[list[str]]:
    _, vocab, name = load(name)
    matcher, mask = gl.compile(gl.Regex('"[^"]*"'), vocab).matcher(), gl.allocate_mask(1, vocab.size)
    matcher.advance_bytes(b'"')
    matcher.fill_mask(mask)
    token = next(i for i in vocab.text_ids.tolist() if vocab.token_bytes(i) == b"the")

    def step() -> None:
        matcher.advance(token)
        matcher.rollback(1)

    record = gl.compile(gl.JsonSchema({"type": "array", "items": {"type": "string"}}), vocab).matcher()
    record.advance_bytes(b'["the')

    def json_step() -> None:
        record.fill_mask(mask)
        record.advance(token)
        record.rollback(1)

    return [
        [f"regex: fill_mask, known state, V = {vocab.size:,}", batches(lambda: matcher.fill_mask(mask))],
        ["regex: advance + rollback, known states", batches(step)],
        ["JSON schema: fill_mask + advance + rollback, known states", batches(json_step)],
    ]


def tables(name: str) -> list[list[str]]:
    from grammarlm.vocab.byte_trie import build_trie

    _, vocab, name = load(name)
    rows = []
    builds = []
    arrays = vocab.data, vocab.offsets, vocab.text_ids, vocab.words * 32
    for _ in range(5):
        begin = time.perf_counter()
        trie = build_trie(*arrays)
        builds.append(time.perf_counter() - begin)
    rows.append(
        [
            name,
            "",
            f"byte trie built ({len(trie.byte):,} nodes), median of 5",
            f"{statistics.median(builds) * 1e3:.0f} ms",
        ]
    )
    rows.append([name, "", "100,000 choices, compile + first mask, median of 5", f"{many_choices(vocab) * 1e3:.0f} ms"])
    return rows


def many_choices(vocab) -> float:
    """Median seconds from a list of strings to the first mask."""
    strings, mask = (
        [f"item {i * 7919 % 1_000_003} of the list" for i in range(100_000)],
        gl.allocate_mask(1, vocab.size),
    )
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        gl.compile(gl.Choices(strings), vocab).matcher().fill_mask(mask)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", nargs="*", default=["llama3_1", "gemma3"])
    usual = ["shipped", "numba"] if entries.are_shipped() else ["numba"]
    parser.add_argument("--kernels", nargs="*", default=usual, choices=["shipped", "numba"])
    parser.add_argument("--known", metavar="TOKENIZER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.known is not None:
        print(json.dumps(known_state(options.known)))
        return
    rows: list[list[str]] = []
    for name in options.tokenizers:
        for kernels in options.kernels:
            rows += starts(name, kernels)
        for _ in range(2):  # in turns, since other programs run
            for kernels in options.kernels:
                rows += known_states(name, kernels)
        rows += tables(name)
    headings = ["tokenizer", "kernels", "what", "figure"]
    write("start", "Starting up, and a mask that is known", {"rows": rows}, table(headings, rows))


if __name__ == "__main__":
    main()
