"""Batches that several threads fill over one constraint: the masks are those that one thread makes.

Each begins with a constraint of which nothing is known yet, and Python changes threads as often as it can.
"""

import contextlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import grammarlm as gl
from tests.mask_bits import ids_of
from tests.masks.machines.stack.stack_examples import COMPILED
from tests.masks.machines.stack.stack_in_threads import GRAMMARS, draw, vocabulary
from tests.real_data import needs_data
from tests.threads import in_threads

LARK = ["c-like", "nested", "json", "c", "sqlite", "python"]


@contextlib.contextmanager
def hasty() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def known_rows(grammar: str, vocab: gl.Vocabulary, walks: int, steps: int) -> dict[tuple[int, ...], np.ndarray]:
    """Rows by the tokens that lead to them, made by one thread."""
    rng, constraint, mask = (
        random.Random(grammar),
        gl.compile(GRAMMARS[grammar](), vocab),
        gl.allocate_mask(1, vocab.size),
    )
    rows: dict[tuple[int, ...], np.ndarray] = {}
    for _ in range(walks):
        matcher, path = constraint.matcher(), list[int]()
        for _ in range(steps):
            matcher.fill_mask(mask)
            rows[tuple(path)] = mask[0].copy()
            ids = ids_of(mask)
            token = draw(ids, vocab, rng)
            assert matcher.advance(token)
            if matcher.is_finished:
                break
            path.append(token)
    return rows


def check(
    grammar: str, vocab: gl.Vocabulary, rows: dict[tuple[int, ...], np.ndarray], batches: int, limits: gl.Limits
) -> int:
    """How many rows of how many threads were as they should be."""
    shared = gl.compile(GRAMMARS[grammar](), vocab, limits=limits)
    paths = list(rows)

    def work(place: int) -> int:
        rng, checked = random.Random(f"{grammar} {place}"), 0
        for _ in range(batches):
            chosen = rng.choices(paths, k=24)
            matchers = [shared.matcher() for _ in chosen]
            for matcher, path in zip(matchers, chosen, strict=True):
                assert matcher.validate(path) == len(path)
                assert all(map(matcher.advance, path))
            mask = gl.allocate_mask(len(chosen), vocab.size)
            gl.fill_masks(matchers, mask, threads=2)
            for row, path in enumerate(chosen):
                assert np.array_equal(mask[row], rows[path]), (grammar, path)
            checked += len(chosen)
        return checked

    with hasty():
        return sum(in_threads(work))


@pytest.mark.parametrize("grammar", LARK)
def test_batches_of_eight_threads(grammar: str) -> None:
    vocab = COMPILED["hostile"]
    rows = known_rows(grammar, vocab, 6, 20)
    assert check(grammar, vocab, rows, 2, gl.Limits()) == 8 * 2 * 24


@needs_data
@pytest.mark.proof
@pytest.mark.parametrize("limit", [256 << 20, 32 << 20], ids=["much memory", "little"])
@pytest.mark.parametrize("name", ["llama3_1", "gemma3"])
@pytest.mark.parametrize("grammar", [*LARK, "go", "html"])
def test_batches_over_a_real_tokenizer(
    grammar: str, name: str, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: object
) -> None:
    vocab = vocabulary(name)
    gl.compile(GRAMMARS[grammar](), vocab).matcher().fill_mask(gl.allocate_mask(1, vocab.size))  # kernels are there
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path))
    rows = known_rows(grammar, vocab, 6, 60)
    checked = 0
    for _ in range(3):
        checked += check(grammar, vocab, rows, 4, gl.Limits(max_bytes=limit))
    record_property("rows", checked)  # type: ignore[operator]
    assert checked == 3 * 8 * 4 * 24
