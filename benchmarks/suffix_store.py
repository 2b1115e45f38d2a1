"""The store of the suffix drafter beside arctic-inference's, on the same streams of tokens, in turns.

usage: GRAMMARLM_DATA=... PYTHONPATH=FOLDER_WITH_ARCTIC python -m benchmarks.suffix_store [--count 60] [--rounds 5]

A stream is a list of (prompt, answer); a store sees the prompt, proposes, is told what was drawn up to the first token that it did
not propose, and proposes again. No model runs: what counts is how many proposed tokens stand in the answer.

    records ...   tasks of the embedded models' text (training.corpus), easy split
    documents     valid instances of MaskBench's schemas, each after its schema, those of one schema one after the other
    sources       files of Python's standard library: the first 20 tokens are the prompt
    edits         the same files with a word in 25 replaced, after the file itself

    ours          gl.Draft("suffix"): its defaults
    arctic        SuffixDecodingCache, with its defaults: no more tokens than the match is long, none below 10 %
    arctic, free  the same without these bounds

Without arctic-inference the table has our row alone. It is distributed as sources whose build wants torch; the extension of
the store builds alone: cmake on csrc/suffix_decoding with nanobind 2.9.2, `_C` beside the files of suffix_decoding/.
"""

import argparse
import json
import os
import random
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import grammarlm as gl
from benchmarks.report import table, write
from grammarlm.decoding.speculative.drafters.suffix import BEFORE, MOST_OWN, MOST_TOKENS, Suffix
from grammarlm.decoding.speculative.suffix_tree import Proposals, SuffixTree
from training.corpus import example

TASKS = ("record", "edit", "agent", "calls", "sql", "list")
CHAIN, NODES, BRANCHES = 12, 24, 4  # tokens of a chain; nodes and branches of a tree
Stream = list[tuple[list[int], list[int]]]
Tree = tuple[list[int], list[int]]  # tokens, parents


@dataclass
class Count:
    """Of one stream."""

    tokens: int = 0
    proposals: int = 0
    proposed: int = 0
    accepted: int = 0
    bytes_a_token: float = 0.0
    append_seconds: list[float] = field(default_factory=list)  # of each call
    propose_seconds: list[float] = field(default_factory=list)


class Ours:
    name = "ours"

    def __init__(self, branches: int = 1):
        self.finished, self.proposals, self.branches = SuffixTree(MOST_TOKENS), Proposals(), branches
        self.chance = Suffix().chance

    def start(self, prompt: list[int], answer: list[int]) -> None:
        self.own, self.before = SuffixTree(MOST_OWN), prompt[-BEFORE:]
        self.own.append(prompt)

    def propose(self, at: int) -> Any:
        most = CHAIN if self.branches == 1 else NODES
        return self.proposals.runs(self.own, self.finished, most, self.branches, self.chance, most)

    def tree(self, runs: list[list[int]]) -> Tree:
        """Runs as the drafter's loop merges them."""
        tokens: list[int] = []
        parents: list[int] = []
        for run in runs:
            node = -1
            for token in run:
                same = [n for n, each in enumerate(zip(tokens, parents, strict=True)) if each == (token, node)]
                if not same and len(tokens) == NODES:
                    break
                if not same:
                    tokens.append(token)
                    parents.append(node)
                node = same[0] if same else len(tokens) - 1
        return tokens, parents

    def said(self, start: int, tokens: list[int]) -> None:
        self.proposals.judge(self.own, tokens[0])
        self.own.append(tokens)

    def end(self, answer: list[int]) -> None:
        self.finished.add(self.before + answer)

    def bytes_a_token(self, tokens: int) -> float:
        return self.finished.nbytes / len(self.finished)


class Arctic:
    name = "arctic"

    def __init__(self, branches: int = 1, **bounds: float):
        from arctic_inference.suffix_decoding import SuffixDecodingCache

        self.cache, self.request, self.bounds = SuffixDecodingCache(), 0, bounds
        self.is_tree, self.most = branches > 1, CHAIN if branches == 1 else NODES

    def start(self, prompt: list[int], answer: list[int]) -> None:
        self.ids, self.prompt = np.array(prompt + answer, np.int32), len(prompt)
        self.cache.start_request(self.request, self.ids[: self.prompt])

    def propose(self, at: int) -> Any:
        said = self.ids[: self.prompt + at]
        return self.cache.speculate(
            self.request, said, max_spec_tokens=self.most, use_tree_spec=self.is_tree, **self.bounds
        )

    def tree(self, draft: Any) -> Tree:
        return draft.token_ids, draft.parents

    def said(self, start: int, tokens: list[int]) -> None:
        first = self.prompt + start
        self.cache.add_active_response(self.request, self.ids[first : first + len(tokens)])

    def end(self, answer: list[int]) -> None:
        self.cache.stop_request(self.request)
        self.request += 1

    def bytes_a_token(self, tokens: int) -> float:
        return self.cache._global_tree.estimate_memory() / tokens


class Free(Arctic):
    name = "arctic, free"

    def __init__(self, branches: int = 1):
        super().__init__(branches, max_spec_factor=100.0, min_token_prob=0.0)


def run(store: Any, stream: Stream) -> Count:
    count, clock = Count(), time.thread_time
    answers = 0
    for prompt, answer in stream:
        start = clock()
        store.start(prompt, answer)
        count.append_seconds.append(clock() - start)
        at = 0
        while at < len(answer):
            start = clock()
            found = store.propose(at)
            count.propose_seconds.append(clock() - start)
            tokens, parents = store.tree(found)
            drawn = accepted(tokens, parents, answer[at:-1])
            count.proposals, count.proposed, count.accepted = (
                count.proposals + 1,
                count.proposed + len(tokens),
                count.accepted + drawn,
            )
            start = clock()
            store.said(at, answer[at : at + drawn + 1])
            count.append_seconds.append(clock() - start)
            at += drawn + 1
        start = clock()
        store.end(answer)
        count.append_seconds.append(clock() - start)
        count.tokens += len(prompt) + len(answer)
        answers += len(answer)
    count.bytes_a_token = store.bytes_a_token(answers)
    return count


def accepted(tokens: list[int], parents: list[int], answer: list[int]) -> int:
    """How many tokens of the answer, its last one apart, are a path of the draft."""
    node, number = -1, 0
    for token in answer:
        below = [n for n, each in enumerate(zip(tokens, parents, strict=True)) if each == (token, node)]
        if not below:
            break
        node, number = below[0], number + 1
    return number


def streams(count: int) -> Iterator[tuple[str, Stream]]:
    _, tokenizer = gl.load_tiny()
    tokenizer.model_max_length = 1 << 30  # whole files are encoded

    def ids(text: str) -> list[int]:
        return tokenizer.encode(text)  # type: ignore[no-any-return]

    for task in TASKS:
        asked = (example("heldout", index, task) for index in range(count))
        yield task, [(ids(each.prompt), ids(each.answer)) for each in asked]
    if os.environ.get("GRAMMARLM_DATA"):
        yield "documents", documents(count, ids)
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[10 : 10 + count // 3]
    texts = [file.read_text(encoding="utf-8", errors="ignore")[:3000] for file in files]
    sources = [ids(text) for text in texts]
    yield "sources", [(each[:20], each[20:]) for each in sources if len(each) > 40]
    rng = random.Random(1)
    yield "edits", [(before, ids(edited(text, rng))) for before, text in zip(sources, texts, strict=True)]


def documents(count: int, ids: Callable[[str], list[int]]) -> Stream:
    found = []
    for file in sorted((Path(os.environ["GRAMMARLM_DATA"]) / "maskbench").rglob("*.json"))[::37][:count]:
        case = json.loads(file.read_text(encoding="utf-8"))
        for test in case.get("tests", []):
            answer = ids(json.dumps(test["data"]))[:400]
            if test["valid"] and len(answer) > 20:
                found.append((ids(json.dumps(case["schema"]))[:200], answer))
    return found


def edited(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    for _ in range(len(words) // 25 + 1):
        words[rng.randrange(len(words))] = rng.choice(["value", "self.x", "", words[rng.randrange(len(words))]])
    return " ".join(words)


def engines() -> list[Any]:
    try:
        import arctic_inference.suffix_decoding  # noqa: F401
    except ImportError as error:
        print(f"arctic-inference is skipped: {error}")
        return [Ours]
    return [Ours, Arctic, Free]


def measured(make: list[Any], stream: Stream, rounds: int, branches: int) -> dict[str, dict[str, float]]:
    """Each engine in turns, in a new store each time: the same calls each time, of which the shortest times count."""
    counts: dict[str, list[Count]] = {each.name: [] for each in make}
    for _ in range(rounds):
        for each in make:
            counts[each.name].append(run(each(branches), stream))
    found = {}
    for name, runs in counts.items():
        first = runs[0]
        assert all((one.proposed, one.accepted) == (first.proposed, first.accepted) for one in runs)
        found[name] = {
            "tokens": first.tokens,
            "accepted": first.accepted / first.proposals,
            "proposed": first.proposed / first.proposals,
            "append_us": 1e6 * shortest([one.append_seconds for one in runs]) / first.tokens,
            "propose_us": 1e6 * shortest([one.propose_seconds for one in runs]) / first.proposals,
            "bytes": first.bytes_a_token,
        }
    return found


def shortest(times: list[list[float]]) -> float:
    """Of all calls: what else the machine did is in none of them."""
    return float(np.min(times, axis=0).sum())


def rows(found: dict[str, dict[str, dict[str, float]]]) -> list[list[str]]:
    return [
        [
            stream if name == "ours" else "",
            name,
            f"{cell['accepted']:.2f}",
            f"{cell['proposed']:.1f}",
            f"{cell['append_us']:.2f}",
            f"{cell['propose_us']:.1f}",
            f"{cell['bytes']:.0f}",
        ]
        for stream, cells in found.items()
        for name, cell in cells.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="answers a stream")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    make = engines()
    figures: dict[str, Any] = {"chains": {}, "trees": {}}
    run(Ours(), [([1, 2], [3, 1, 2, 3])])  # what is compiled once is nobody's time
    for name, stream in streams(options.count):
        for shape, branches in (("chains", 1), ("trees", BRANCHES)):
            figures[shape][name] = measured(make, stream, options.rounds, branches)
            print(name, shape, {k: round(v["accepted"], 3) for k, v in figures[shape][name].items()}, flush=True)
    header = ["stream", "store", "accepted a forward", "proposed", "append, us a token", "propose, us", "bytes a token"]
    parts = [
        f"Chains of at most {CHAIN} tokens; our bars: 3 us a token appended, 5 us a proposal, 200 bytes a token.",
        table(header, rows(figures["chains"])),
        f"Trees of at most {NODES} nodes (ours: the likeliest of {BRANCHES} branches):",
        table(header, rows(figures["trees"])),
        "Times: processor time, of each call the shortest of all rounds; reading the clock, .4 us, is in them. "
        "Bias: the `free` rows propose as if a token that is read cost nothing. "
        "Bytes: arctic-inference's are its own estimate for the answers that it keeps, which are all, unless it is told how many; "
        f"ours are all arrays for what is kept, at most {MOST_TOKENS:,} tokens. The tree of a running text is in neither.",
    ]
    write("suffix_store", "The suffix store", figures, "\n\n".join(parts))


if __name__ == "__main__":
    main()
