"""Eight threads on one constraint with a stack and little memory see the masks that each sees alone, with memory enough.

Where memory is little a generation of states is full again and again: it is replaced while others hold states of it, fork, go back
into it and ask for its rows. Rows of a real vocabulary fill 4 MB; for a small one the limit is made as small as the grammar bears.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.stack import Place
from grammarlm.masks.stack import arena
from tests.laws.cfg_laws import View, view
from tests.laws.vocabularies import every_byte
from tests.masks.test_stack_matcher import CASES, COMPILED

DATA = os.environ.get("GRAMMARLM_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="GRAMMARLM_DATA says where the tokenizers are")
ROOT = Path(__file__).parents[2]
THREADS = 8
LITTLE = 4 << 20
LEAST = 1 << 14
GRAMMARS: dict[str, Callable[[], Any]] = {name: describe for name, (describe, _) in CASES.items()}
GRAMMARS |= {name: (lambda name=name: gl.Lark.library(name)) for name in ("json", "sqlite", "c", "go", "html", "yaml")}
GRAMMARS["python"] = gl.Lark.python
GRAMMARS["no two b in a row"] = lambda: gl.Gbnf(r'root ::= [ab]* "(" root ")" | "a"') & gl.Regex("(?s)(?!.*bb).*")


def walk(constraint: gl.Constraint, vocab: gl.Vocabulary, seed: str, steps: int) -> tuple[list[View], int]:
    """What a walk sees, with forks, rollbacks, texts begun anew; and how many generations of states it has met."""
    rng, matcher, seen, generations = random.Random(seed), constraint.matcher(), [], set()
    kept = [matcher]
    for _ in range(steps):
        seen.append(view(matcher, vocab))
        generations.add(id(matcher._head[1]))
        ids = np.flatnonzero(np.unpackbits(np.frombuffer(seen[-1][0], np.uint8), bitorder="little")).tolist()
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


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    """What each thread returns; an error of one is raised here."""
    found: dict[int, Any] = {}
    begin = threading.Barrier(THREADS)

    def run(place: int) -> None:
        begin.wait()
        try:
            found[place] = work(place)
        except Exception as error:
            found[place] = error  # raised again below, in the thread of the test

    threads = [threading.Thread(target=run, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in found.values():
        if isinstance(outcome, Exception):
            raise outcome
    return [found[place] for place in range(THREADS)]


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
        "import json, sys\nfrom tests.masks import test_stack_threads as law\n"
        "grammar, name, steps, limit = json.loads(sys.argv[1])\nvocab = law.vocabulary(name)\n"
        "limit = limit or law.least_memory(grammar, vocab, steps)\n"
        "print(json.dumps(law.check(grammar, vocab, steps, limit)))"
    )
    command = [sys.executable, "-X", "faulthandler", "-c", code, json.dumps([grammar, name, steps, limit])]
    child = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert child.returncode == 0, f"the process ended with {child.returncode}: {child.stderr[-3000:]}"
    return Counter(json.loads(child.stdout))


def vocabulary(name: str) -> gl.Vocabulary:
    return COMPILED[name] if name in COMPILED else gl.Vocabulary.from_tokenizer(Path(str(DATA), "tokenizers", name))


@pytest.mark.parametrize("grammar", ["c-like", "nested", "not LALR", "json gbnf", "no two b in a row", "json"])
def test_eight_threads_with_4_mb(grammar: str) -> None:
    check(grammar, COMPILED["hostile"], 30, LITTLE)


@pytest.mark.parametrize("grammar", ["nested", "no two b in a row"])
def test_eight_threads_with_little_memory(grammar: str) -> None:
    assert in_a_child(grammar, "merged", 30, None)["generations that a thread met"] > 1


@pytest.mark.proof
@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_eight_threads_with_4_mb_for_long(grammar: str, name: str, record_property: Any) -> None:
    for outcome, number in check(grammar, COMPILED[name], 400, LITTLE).items():
        record_property(outcome, number)


@pytest.mark.proof
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_eight_threads_with_as_little_memory_as_the_grammar_bears(grammar: str, record_property: Any) -> None:
    for outcome, number in in_a_child(grammar, "hostile", 400, None).items():
        record_property(outcome, number)


@needs_data
@pytest.mark.proof
@pytest.mark.parametrize("grammar", ["json", "sqlite", "c", "go", "python"])
def test_eight_threads_with_4_mb_and_a_real_tokenizer(grammar: str, record_property: Any) -> None:
    """Of Python a single mask may need 6 MB, in one thread as well."""
    outcomes = in_a_child(grammar, "llama3_1", 150, 2 * LITTLE if grammar == "python" else LITTLE)
    assert outcomes["generations that a thread met"] > 1 or grammar == "json"
    for outcome, number in outcomes.items():
        record_property(outcome, number)


# Arrays of one length, as many rows as kernels believe them to have, and the hash table that finds these rows.
OF_ONE_LENGTH = {
    "S_CAPACITY": (["S_PARENT", "S_SYMBOL", "S_CLASS"], ["S_HASH"]),
    "K_CAPACITY": (["K_LEXER", "K_LIVE"], []),
    "C_CAPACITY": (["C_OFFSET", "C_LENGTH", "C_ACCEPTS", "C_ROW", "C_KIND"], ["C_HASH"]),
    "X_NODE_CAPACITY": (["X_BYTE", "X_DEPTH", "X_END", "X_FIRST", "X_COUNT"], []),
    "SURVEY_CAPACITY": (["SURVEY", "SURVEY_KEY"], ["SURVEY_HASH"]),
}


@pytest.mark.parametrize("capacity", OF_ONE_LENGTH)
def test_a_full_generation_may_still_be_written_to(capacity: str) -> None:
    """Others stand in it and read on, so no kernel may believe an array to be longer than it is."""
    arrays, hashes = OF_ONE_LENGTH[capacity]
    vocab, short = COMPILED["hostile"], set[str]()
    for limit in range(500_000, 4_000_000, 100_000):
        epoch = gl.compile(gl.Lark.library("json"), vocab, limits=gl.Limits(max_bytes=limit)).matcher()._head[1]
        with contextlib.suppress(gl.LimitExceeded):
            while True:
                epoch._grow(*(Place[name] for name in arrays + hashes))
        assert epoch.is_full
        short |= {name for name in arrays if len(epoch.array(Place[name])) < epoch.arena[Place[capacity]]}
    assert not short


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_in_the_midst_of_a_survey() -> None:
    """The thread that writes it is not there in the child: masks are made in a new epoch."""
    vocab = every_byte().vocabulary()
    constraint = gl.compile(GRAMMARS["json"](), vocab)
    epoch = constraint._automaton.epoch
    mask = gl.allocate_mask(1, vocab.size)
    epoch.arena[Place.TURN] = 1
    child = os.fork()
    if not child:
        try:
            constraint.matcher().fill_mask(mask)
            right = bool(mask[0, ord("{") >> 5] >> (ord("{") & 31) & 1) and constraint._automaton.epoch is not epoch
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    epoch.arena[Place.TURN] = 0
    constraint.matcher().fill_mask(mask)
    assert constraint._automaton.epoch is epoch


def test_who_waits_for_a_turn_gets_it() -> None:
    vocab = every_byte().vocabulary()
    constraint = gl.compile(GRAMMARS["json"](), vocab)
    mask, expected = gl.allocate_mask(1, vocab.size), gl.allocate_mask(1, vocab.size)
    gl.compile(GRAMMARS["json"](), vocab).matcher().fill_mask(expected)
    words = constraint._automaton.epoch.arena
    matcher = constraint.matcher()
    words[Place.TURN] = 1
    timer = threading.Timer(0.2, lambda: words.__setitem__(Place.TURN, 0))
    timer.start()
    matcher.fill_mask(mask)
    assert not timer.is_alive() or timer.finished.is_set()
    assert np.array_equal(mask, expected)


def test_a_turn_that_never_comes_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "LONGEST_TURN", 0.2)
    vocab = every_byte().vocabulary()
    constraint = gl.compile(GRAMMARS["json"](), vocab, limits=gl.Limits(max_ms=300))
    mask = gl.allocate_mask(1, vocab.size)
    matcher = constraint.matcher()
    constraint._automaton.epoch.arena[Place.TURN] = 1
    with pytest.raises(gl.LimitExceeded, match="another thread"):
        matcher.fill_mask(mask)
    with pytest.raises(gl.LimitExceeded, match="max_ms"):
        matcher.advance_bytes(b"{")
