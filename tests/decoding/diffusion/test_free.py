"""The canvas without a grammar, and holes that shrink, against all rows."""

import itertools

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion.free import FreeCanvas
from grammarlm.decoding.diffusion.shrinking import shrinking_canvas
from tests.decoding.diffusion.every_row import by_softmax, check, ids_of
from tests.decoding.diffusion.languages import LETTERS, Language

WIDTH = 5  # 0 special, 1 and 2 text, 3 and 4 stop
VOCAB = gl.Vocabulary([b"<m>", b"a", b"b", b"</s>", b"<pad>"], stop_ids=[3, 4], special_ids=[0, 3, 4])


def free_rows(length, ends):
    found = []
    for count in range(length + 1) if ends else [length]:
        tails = itertools.product((3, 4), repeat=length - count)
        found += [text + tail for tail in tails for text in itertools.product((1, 2), repeat=count)]
    return np.array(found)


@pytest.mark.parametrize("ends", [False, True])
def test_the_free_canvas_is_exact(ends) -> None:
    canvas, rows = FreeCanvas(4, VOCAB, ends=ends), free_rows(4, ends)
    for number in range(150):
        random = np.random.default_rng(number)
        row = random.integers(1, WIDTH, 4)
        row[random.random(4) < (0.3, 0.6, 1.0)[number % 3]] = -1
        # Given ids are never judged without a grammar that ends: a stop id in the middle stays where it is.
        if not ends and (row >= 3).any():
            continue
        check(canvas, rows, row.tolist(), WIDTH, random)


def test_samples_of_the_free_canvas_follow_the_joint_law() -> None:
    canvas, rows = FreeCanvas(3, VOCAB, ends=True), free_rows(3, ends=True)
    logits = np.random.default_rng(4).standard_normal((3, WIDTH))
    weights = np.exp(logits[np.arange(3), rows].sum(1))
    law = dict(zip(map(tuple, rows.tolist()), weights / weights.sum(), strict=True))
    counts, n = {}, 3000
    for seed in range(n):
        row = tuple(canvas.drawn([-1] * 3, logits, by_softmax(np.random.default_rng(seed))))
        counts[row] = counts.get(row, 0) + 1
    chi = sum((counts.get(row, 0) - n * p) ** 2 / (n * p) for row, p in law.items())
    assert set(counts) <= set(law)
    assert chi < len(law) + 5 * (2 * len(law)) ** 0.5


def test_what_the_model_takes_for_a_mask_is_never_written() -> None:
    assert ids_of(FreeCanvas(2, VOCAB, never=[1]).allowed([-1, -1]).row(0)) == {2}


@pytest.mark.parametrize("holes", [[(1, 4)], [(0, 2), (3, 5)], [(2, 5)]])
def test_a_canvas_with_holes_that_shrink_is_exact(holes) -> None:
    """All rows: for each size of the holes the rows of the language of that length, EMPTY where positions are left out."""
    language = Language("(ab|c)*a?", LETTERS, 5)
    constraint, empty = gl.compile(language.grammar, language.vocab), language.vocab.size
    canvas = shrinking_canvas(5, holes, empty, constraint.canvas)
    rows = []
    for keeps in itertools.product(*(range(end - first + 1) for first, end in holes)):
        out = {at for (first, end), kept in zip(holes, keeps, strict=True) for at in range(first + kept, end)}
        places = [at for at in range(5) if at not in out]
        for short in Language(language.pattern, LETTERS, len(places)).rows if places else ():
            row = np.full(5, empty)
            row[places] = short
            rows.append(row)
    rows = np.array(rows)
    for number in range(60):
        random = np.random.default_rng(number)
        row = rows[random.integers(len(rows))].copy()
        if number % 3 == 2:
            row[random.integers(5)] = random.integers(1, empty + 1)
        row[random.random(5) < 0.6] = -1
        check(canvas, rows, row.tolist(), empty + 1, random)


def test_too_many_sizes_are_refused() -> None:
    with pytest.raises(gl.UnsupportedFeature, match="combinations of sizes"):
        shrinking_canvas(99, [(0, 20), (30, 50)], 5, lambda n: FreeCanvas(n, VOCAB))
