"""What a user waits for before the first mask, and what a known mask costs.

usage: python -m benchmarks.start [--tokenizers llama3_1 gemma3]

Each start is a new process: once with an empty cache folder (as after the installation: kernels compile, the trie is built), then
five times with what that left behind; for a regular expression, a JSON schema and a Lark grammar, which compile more kernels each.
Beside it: building the byte trie, loading it, and one call of fill_mask and of advance on a
state that is known (medians of batches of 1,000 calls), and 100,000 choices.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import grammarlm as gl
from benchmarks.report import table, write
from benchmarks.tokenizers import load

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


def start(path: str, grammar: str, cache: str) -> float:
    environment = {**os.environ, "GRAMMARLM_CACHE": cache}
    child = subprocess.run(
        [sys.executable, "-c", CHILD.format(path=path, grammar=grammar)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(child.stdout)


def starts(name: str) -> list[list[str]]:
    data = os.environ.get("GRAMMARLM_DATA")
    path = (
        os.path.join(data, "tokenizers", name) if data else os.path.join(os.path.dirname(gl.__file__), "models", "tiny")
    )
    rows = []
    for kind, grammar in GRAMMARS.items():
        with tempfile.TemporaryDirectory() as cache:
            first = start(path, grammar, cache)
            later = [start(path, grammar, cache) for _ in range(5)]
        rows.append([name, f"{kind}: first mask after the installation", f"{first:.2f} s"])
        what = f"{kind}: import + first mask in a later process (median, slowest of 5)"
        rows.append([name, what, f"{statistics.median(later):.2f} s, {max(later):.2f} s"])
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


def known_state(name: str) -> list[list[str]]:
    from grammarlm.vocab.byte_trie import build_trie, load_or_build

    _, vocab, name = load(name)
    rows = []
    builds, loads = [], []
    arrays = vocab.data, vocab.offsets, vocab.text_ids, vocab.words * 32
    for _ in range(5):
        begin = time.perf_counter()
        trie = build_trie(*arrays)
        builds.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        load_or_build(*arrays, vocab.fingerprint)
        loads.append(time.perf_counter() - begin)
    rows.append(
        [name, f"byte trie built ({len(trie.byte):,} nodes), median of 5", f"{statistics.median(builds) * 1e3:.0f} ms"]
    )
    rows.append([name, "byte trie loaded from the cache, median of 5", f"{statistics.median(loads) * 1e3:.1f} ms"])
    matcher, mask = gl.compile(gl.Regex('"[^"]*"'), vocab).matcher(), gl.allocate_mask(1, vocab.size)
    matcher.advance_bytes(b'"')
    matcher.fill_mask(mask)
    token = next(i for i in vocab.text_ids.tolist() if vocab.token_bytes(i) == b"the")
    rows.append([name, f"fill_mask, known state, V = {vocab.size:,}", batches(lambda: matcher.fill_mask(mask))])

    def step() -> None:
        matcher.advance(token)
        matcher.rollback(1)

    rows.append([name, "advance + rollback, known states", batches(step)])
    rows.append([name, "100,000 choices, compile + first mask, median of 5", f"{many_choices(vocab) * 1e3:.0f} ms"])
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
    rows: list[list[str]] = []
    for name in parser.parse_args().tokenizers:
        rows += starts(name)
        rows += known_state(name)
    write(
        "start", "Starting up, and a mask that is known", {"rows": rows}, table(["tokenizer", "what", "figure"], rows)
    )


if __name__ == "__main__":
    main()
