"""Eight threads that walk through one constraint with a stack: what each sees, and with how little memory they get on."""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import grammarlm as gl
from tests.internals import epoch_of
from tests.laws.cfg_laws import View, view
from tests.mask_bits import ids_of
from tests.masks.machines.stack.stack_examples import CASES, COMPILED
from tests.real_data import FOLDER
from tests.threads import THREADS, in_threads

ROOT = Path(__file__).parents[4]
LITTLE = 4 << 20
LEAST = 1 << 14
GRAMMARS: dict[str, Callable[[], Any]] = {name: (lambda name=name: CASES[name]) for name in CASES}
GRAMMARS |= {name: (lambda name=name: gl.Lark.library(name)) for name in ("json", "sqlite", "c", "go", "html", "yaml")}
GRAMMARS["python"] = gl.Lark.python
GRAMMARS["no two b in a row"] = lambda: gl.Gbnf(r'root ::= [ab]* "(" root ")" | "a"') & gl.Regex("(?s)(?!.*bb).*")


def walk(constraint: gl.Constraint, vocab: gl.Vocabulary, seed: str, steps: int) -> tuple[list[View], int]:
    """What a walk sees, with forks, rollbacks, texts begun anew; and how many generations of states it has met."""
    rng, matcher, seen, generations = random.Random(seed), constraint.matcher(), [], set()
    kept = [matcher]
    for _ in range(steps):
        seen.append(view(matcher, vocab))
        generations.add(id(epoch_of(matcher)))
        ids = ids_of(np.frombuffer(seen[-1][0], np.uint8))
        assert ids, "an empty mask"
        if matcher.is_finished or rng.random() < 0.05:
            matcher = rng.choice(kept).fork()  # one from long ago
            continue
        assert matcher.advance(draw(ids, vocab, rng)) is True
        if rng.random() < 0.1:
            matcher.rollback(1)
        if rng.random() < 0.1:
            kept = [*kept[-7:], matcher.fork()]
    return seen, len(generations)


def draw(ids: list[int], vocab: gl.Vocabulary, rng: random.Random) -> int:
    """A token, by its first byte: one that opens or closes something is as likely as a word. Seldom a stop id."""
    texts = [token for token in rng.sample(ids, min(len(ids), 300)) if token not in vocab.stop_ids]
    if not texts or rng.random() < 0.02:
        return rng.choice(ids)
    first = rng.choice(sorted({vocab.token_bytes(token)[0] for token in texts}))
    return rng.choice([token for token in texts if vocab.token_bytes(token)[0] == first])


def walks(constraint: gl.Constraint, seed: str, steps: int) -> list[tuple[list[View], int]]:
    """What eight walks see, one after the other."""
    return [walk(constraint, constraint.vocab, f"{seed} {place}", steps) for place in range(THREADS)]


def least_memory(grammar: str, vocab: gl.Vocabulary, steps: int) -> int:
    """The largest limit (4 MB, 2 MB, ...) with which one thread meets two generations, or the least with which it gets on."""
    limit = LITTLE
    while limit > LEAST:
        try:
            tried = gl.compile(GRAMMARS[grammar](), vocab, limits=gl.Limits(max_bytes=limit))
            if any(generations > 1 for _, generations in walks(tried, grammar, steps)):
                return limit
        except gl.LimitExceeded:
            return 2 * limit
        limit //= 2
    return limit


def check(grammar: str, vocab: gl.Vocabulary, steps: int, limit: int) -> Counter[str]:
    alone = walks(gl.compile(GRAMMARS[grammar](), vocab), grammar, steps)
    shared = gl.compile(GRAMMARS[grammar](), vocab, limits=gl.Limits(max_bytes=limit))
    found = in_threads(lambda place: walk(shared, vocab, f"{grammar} {place}", steps))
    for place in range(THREADS):
        assert found[place][0] == alone[place][0], (grammar, place, limit)
    most = max(generations for _, generations in found)
    return Counter({"cases": THREADS * steps, "limit in bytes": limit, "generations that a thread met": most})


def in_a_child(grammar: str, name: str, steps: int, limit: int | None) -> Counter[str]:
    """`check` in a process of its own, so that a crash is seen and named; without a limit, the least memory that goes."""
    code = (
        "import json, sys\nfrom tests.masks.machines.stack import stack_in_threads as law\n"
        "grammar, name, steps, limit = json.loads(sys.argv[1])\nvocab = law.vocabulary(name)\n"
        "limit = limit or law.least_memory(grammar, vocab, steps)\n"
        "print(json.dumps(law.check(grammar, vocab, steps, limit)))"
    )
    command = [sys.executable, "-X", "faulthandler", "-c", code, json.dumps([grammar, name, steps, limit])]
    child = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert child.returncode == 0, f"the process ended with {child.returncode}: {child.stderr[-3000:]}"
    return Counter(json.loads(child.stdout))


def vocabulary(name: str) -> gl.Vocabulary:
    return COMPILED[name] if name in COMPILED else gl.Vocabulary.from_tokenizer(FOLDER / "tokenizers" / name)
