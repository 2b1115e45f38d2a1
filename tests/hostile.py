"""Hostile grammars in a process of their own, with little memory: what becomes of each, one line of JSON before and after it.

    python -m tests.hostile LIMITS NAME ...      the attack, on the cases of these names
    attack(names, limits)                        the same from a test: each case's outcome, crashes among them

The cases are those of corpus/hostile.toml and corpus/hostile_schemas.py. A process that dies is started again with the cases that
are left, so that a segmentation fault is the fault of one case, named.
"""

from __future__ import annotations

import faulthandler
import functools
import json
import operator
import pathlib
import random
import resource
import string
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import grammarlm as gl
from grammarlm.masks.trail import before
from tests.corpus import hostile_schemas
from tests.corpus_files import corpus
from tests.internals import head_of
from tests.laws.laws import allowed_ids
from tests.laws.vocabularies import every_byte
from tests.mask_bits import ids_of

ROOT = pathlib.Path(__file__).parent.parent
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in corpus("hostile")}
CASES |= {
    f"schema: {case.name}": {
        "kind": "JsonSchema",
        "make": case.make,
        **({"outcome": case.outcome} if case.outcome else {}),
    }
    for case in hostile_schemas.CASES
}
LIMITS = {
    "ordinary": gl.Limits(max_ms=2000),
    "short": gl.Limits(max_ms=150),
    "tiny": gl.Limits(max_ms=150, max_bytes=4_000_000, max_states=200, max_depth=5),
    "tiny and slow": gl.Limits(max_ms=2000, max_bytes=4_000_000, max_states=200, max_depth=5),
}
MEMORY = 1 << 30  # bytes beyond what the process has before the first case
GRACE = 2.0  # seconds of CPU time that a call may take beyond its limit
HANGS = 60.0  # seconds after which a case is given up, however busy the machine is
STEPS, REFUSALS, TEXTS_UNTIL_LIMIT = 200, 20, 3
BLOCKS = r"""
start: (_NEWLINE | line)*
line: A+ (":" _NEWLINE _INDENT line+ _DEDENT | _NEWLINE)
A: /[ab]/
_NEWLINE: /(\r?\n[\t ]*)+/
%declare _INDENT _DEDENT
"""
BOUND = {"functools": functools, "operator": operator, "pathlib": pathlib, "string": string, "gl": gl, "BLOCKS": BLOCKS}


def grammar_of(case: dict[str, Any]) -> gl.Regex:
    """The grammar of a case; typed as one of its kinds."""
    if "python" in case:
        return eval(case["python"], dict(BOUND))
    if "make" in case:
        return gl.JsonSchema(case["make"]())
    text = case["text"] if "text" in case else "".join(_repeated(*piece) for piece in case["pieces"])
    return getattr(gl, case["kind"])(text, **case.get("options", {}))


def _repeated(piece: str, times: int) -> str:
    if "{i}" not in piece and "{j}" not in piece:
        return piece * times
    return "".join(piece.replace("{i}", str(i)).replace("{j}", str(i + 1)) for i in range(times))


# In the process that may die


class Attack:
    """One grammar, compiled and walked in; `AssertionError` where a promise is broken."""

    def __init__(self, name: str, limits: gl.Limits, vocab: gl.Vocabulary):
        self.name, self.limits, self.vocab = name, limits, vocab
        self.rng = random.Random(name)
        self.slowest, self.exceeded, self.steps = 0.0, 0, 0

    def timed(self, call: Any, *arguments: Any, **named: Any) -> Any:
        before = time.process_time()
        try:
            return call(*arguments, **named)
        finally:
            self.slowest = max(self.slowest, time.process_time() - before)

    def outcome(self) -> str:
        grammar = grammar_of(CASES[self.name])
        try:
            constraint = self.timed(gl.compile, grammar, self.vocab, limits=self.limits)
            matcher = self.timed(
                constraint.matcher
            )  # of a grammar that an earlier process has compiled the start is made here
        except gl.GrammarError as error:
            return type(error).__name__ if len(str(error)) <= 500 else "a message of more than 500 characters"
        self.walk(matcher)
        return "built"

    def walk(self, matcher: gl.Matcher) -> None:
        mask = gl.allocate_mask(1, self.vocab.size)
        refusals = REFUSALS
        while self.steps < STEPS and self.exceeded < TEXTS_UNTIL_LIMIT:
            if not self.fill(matcher, mask):
                matcher.reset()
                continue
            allowed = set(ids_of(mask))
            assert allowed, "an empty row"
            assert matcher.is_accepting == bool(allowed & set(self.vocab.stop_ids)), "stop ids iff accepting"
            if refusals and self.rng.random() < 0.2:
                refusals -= 1
                token = self.rng.choice([t for t in range(-2, self.vocab.size + 2) if t not in allowed])
                accepted = self.step(matcher, token)
                assert not accepted, f"token {token} is not in the mask and accepted"
            token = self.rng.choice(sorted(allowed - set(self.vocab.stop_ids)) or sorted(allowed))
            accepted = self.step(matcher, token)
            assert accepted is not False, f"token {token} is in the mask and refused"
            self.steps += 1
            if accepted is None or matcher.is_finished:
                matcher.reset()
            elif self.rng.random() < 0.05:
                matcher.rollback(1)

    def fill(self, matcher: gl.Matcher, mask: np.ndarray) -> bool:
        """False where a limit was reached, and everything is as it was."""
        steps, accepting = steps_of(matcher), matcher.is_accepting
        mask[:] = 0x5A5A5A5A
        try:
            self.timed(matcher.fill_mask, mask)
        except gl.LimitExceeded:
            self.exceeded += 1
            assert np.array_equal(mask[0], stop_row(self.vocab)), "after LimitExceeded the row holds the stop ids alone"
            assert (steps_of(matcher), matcher.is_accepting) == (steps, accepting), "LimitExceeded changed the state"
            return False
        return True

    def step(self, matcher: gl.Matcher, token: int) -> bool | None:
        """What advance says; None where a limit was reached, and everything is as it was."""
        steps, accepting = steps_of(matcher), matcher.is_accepting
        try:
            accepted = self.timed(matcher.advance, token)
        except gl.LimitExceeded:
            self.exceeded += 1
            accepted = None
        if not accepted:
            assert (steps_of(matcher), matcher.is_accepting) == (steps, accepting), "a refused token changed the state"
        return accepted


def steps_of(matcher: gl.Matcher) -> list[int | bytes]:
    """The steps that lead to where a matcher stands, the last one first."""
    steps, head = [], head_of(matcher)
    while (earlier := before(head)) is not None:
        steps.append(head[3])
        head = earlier
    return steps


def stop_row(vocab: gl.Vocabulary) -> np.ndarray:
    row = np.zeros(-(-vocab.size // 32) * 32, np.uint8)
    row[list(vocab.stop_ids)] = 1
    return np.packbits(row, bitorder="little").view(np.int32)


def check_ordinary_request(vocab: gl.Vocabulary) -> None:
    """Whatever came before, the next request is served: a language, one with a stack, and a schema."""
    for grammar in (gl.Regex("(yes|no)"), gl.Gbnf('root ::= "(" root ")" | "yes" | "no"')):
        matcher = gl.compile(grammar, vocab).matcher()
        assert allowed_ids(matcher, vocab) & set(b"()yn!") == set(b"yn" if isinstance(grammar, gl.Regex) else b"(yn")
        assert matcher.advance_bytes(b"yes")
        assert allowed_ids(matcher, vocab) == set(vocab.stop_ids)
    matcher = gl.compile(gl.JsonSchema({"enum": ["yes", True]}), vocab).matcher()
    assert allowed_ids(matcher, vocab) & set(b'"tn[') == set(b'"t')
    assert matcher.advance_bytes(b'"yes"')
    assert matcher.is_accepting


def main(limits: str, names: Sequence[str]) -> None:
    vocab = every_byte().vocabulary()
    check_ordinary_request(vocab)  # compiles the kernels where nobody has yet
    say(ready=True)
    in_use = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, in_use + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in names:
        say(begins=name)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        attack = Attack(name, LIMITS[limits], vocab)
        try:
            outcome = attack.outcome()
            check_ordinary_request(vocab)
        except Exception as error:  # whatever it is, it is what this case does
            outcome = f"{type(error).__name__}: {error}"[:300]
        faulthandler.cancel_dump_traceback_later()
        facts = {"slowest": attack.slowest, "exceeded": attack.exceeded, "steps": attack.steps}
        say(ends=name, outcome=outcome, **facts)


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


# In the test


def attack(names: Sequence[str], limits: str) -> dict[str, dict[str, Any]]:
    """What becomes of the cases, by name."""
    outcomes: dict[str, dict[str, Any]] = {}
    while left := [name for name in names if name not in outcomes]:
        command = [sys.executable, "-m", "tests.hostile", limits, *left]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        outcomes |= {line["ends"]: line for line in lines if "ends" in line}
        if done.returncode:
            begun = [line["begins"] for line in lines if "begins" in line and line["begins"] not in outcomes]
            assert begun, f"the process ended with {done.returncode} before the first case: {done.stderr[-2000:]}"
            why = f"the process died with {done.returncode}: {done.stderr[-1500:]}"
            outcomes[begun[0]] = {"outcome": why, "slowest": 0.0, "exceeded": 0, "steps": 0}
    return outcomes


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
