"""Limits of work: the same on every machine, whatever its clock says; a limit of masks apart from that of compile.

What is read from the cache folder is no work, so an entry of each grammar is made before any is compared."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.runtime import limits as module
from tests.masks.machines.stack.stack_examples import COMPILED

ROOT = Path(__file__).parents[3]
HARD = {
    "regular": lambda: gl.Regex("(?s).*a.{12}b.*c.{9}d"),
    "stack": lambda: gl.Lark.library("json"),
    "json": lambda: gl.JsonSchema(
        {"type": "object", "patternProperties": {"^[a-z]{3,40}[0-9]$": {"pattern": "^(ab|cd){4,90}$"}}}
    ),
}
TEXTS = {"regular": b"xayza" * 8, "stack": b'{"a": [1, {"b": "cd"}, true]}', "json": b'{"abcdef1":"ababcdcd'}


@pytest.fixture(autouse=True, scope="module")
def _entries() -> None:
    for kind, grammar in HARD.items():
        masks(grammar(), gl.Limits(), TEXTS[kind])


def masks(grammar: Any, limits: gl.Limits, text: bytes) -> list[bytes | str]:
    """What a rank sees: a row after each byte, and which limit stopped it."""
    vocab = COMPILED["hostile"]
    try:
        matcher = gl.compile(grammar, vocab, limits=limits).matcher()
    except gl.LimitExceeded as error:
        return [str(error)]
    seen: list[bytes | str] = []
    mask = gl.allocate_mask(1, vocab.size)
    for byte in text:
        try:
            matcher.fill_mask(mask)
            seen.append(mask.tobytes())
            if not matcher.advance_bytes(bytes([byte])):
                break
        except gl.LimitExceeded as error:
            seen += [mask.tobytes(), str(error)]
    return seen


@pytest.mark.parametrize("work", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("kind", HARD)
def test_ranks_with_skewed_clocks_see_the_same(kind: str, work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = gl.Limits(max_ms=1e9, max_work=10 * work, max_mask_work=work)
    first = masks(HARD[kind](), limits, TEXTS[kind])
    now = time.perf_counter
    monkeypatch.setattr(module.time, "perf_counter", lambda: 10 * now())
    assert masks(HARD[kind](), limits, TEXTS[kind]) == first


def test_processes_see_the_same() -> None:
    """Ranks of one engine: the order of sets differs from process to process, and so may their addresses."""
    code = (
        "from tests.masks.runtime.test_work_limits import HARD, TEXTS, gl, masks\n"
        "print([masks(HARD[kind](), gl.Limits(max_mask_work=work), TEXTS[kind]) for kind in HARD for work in (1, 2, 3, 5, 20)])"
    )
    seen = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        child = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        seen.add(child.stdout)
    assert len(seen) == 1


def test_little_work_is_too_little_and_much_is_enough() -> None:
    """Otherwise the law above would compare nothing."""
    few = [masks(HARD[kind](), gl.Limits(max_work=2, max_mask_work=1), TEXTS[kind]) for kind in HARD]
    many = [masks(HARD[kind](), gl.Limits(), TEXTS[kind]) for kind in HARD]
    assert any(isinstance(seen, str) and "work" in seen for row in few for seen in row)
    assert not any(isinstance(seen, str) for row in many for seen in row)


def test_a_limit_of_masks_apart_from_that_of_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = gl.compile(HARD["regular"](), COMPILED["hostile"], limits=gl.Limits(max_mask_ms=1e-9))
    mask = np.full_like(gl.allocate_mask(1, constraint.vocab.size), 0)

    def walk() -> None:
        matcher = constraint.matcher()
        while True:
            matcher.fill_mask(mask)
            assert matcher.advance_bytes(b"a")

    with pytest.raises(gl.LimitExceeded, match="max_mask_ms = 1e-09 ms"):
        walk()


@pytest.mark.parametrize("wrong", [{"max_mask_ms": 0}, {"max_work": -1}, {"max_mask_work": "1"}, {"max_ms": None}])
def test_wrong_limits_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        gl.Limits(**wrong)  # type: ignore[arg-type]


def test_limits_are_saved_with_a_constraint() -> None:
    vocab, limits = COMPILED["hostile"], gl.Limits(max_mask_ms=3.5, max_work=10**6)
    made = gl.compile(gl.Regex("a+"), vocab, limits=limits)
    assert gl.Constraint.from_bytes(made.to_bytes(), vocab).report.limits == limits


def polite_pauses(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> int:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    run()
    return len(pauses)


def test_a_polite_thread_pauses_and_another_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = ["^([a-z][0-9])+$", "((c1d3g3).{4,8}){6,6}", "(t|8){10,10}$"]
    heavy = gl.JsonSchema({"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns]})

    def compile() -> gl.Constraint:
        return gl.compile(heavy, COMPILED["hostile"])

    assert not polite_pauses(monkeypatch, compile)
    with module.POLITE:
        assert polite_pauses(monkeypatch, compile) > 3
