"""fit_threshold: planted thresholds, sharp and soft, are found."""

import math
import re

import numpy as np
import pytest

from grammarlm.decoding import fit_threshold


@pytest.mark.parametrize("planted", [0.3, 1.0, 2.2])
@pytest.mark.parametrize("steepness", [4.0, 12.0, math.inf])
def test_a_planted_threshold_is_found_within_5_percent(planted, steepness):
    """AdaDec: sharp and soft ones."""
    rng = np.random.default_rng(int(100 * planted))
    entropies = rng.uniform(0, 2 * planted, 40_000)
    if math.isinf(steepness):
        right = entropies < planted
    else:
        right = rng.random(len(entropies)) < 1 / (1 + np.exp(steepness / planted * (entropies - planted)))
    assert fit_threshold(entropies.tolist(), right.tolist()) == pytest.approx(planted, rel=0.05)


def test_what_entropy_says_nothing_about():
    assert fit_threshold([0.1, 0.5, 1.0], [True, True, True]) == math.inf
    assert fit_threshold([0.1, 0.5, 1.0], [False, False, False]) == 0.0
    assert fit_threshold([0.1, 0.2, 0.9, 1.0], [False, False, True, True]) == math.inf
    assert fit_threshold([0.5, 0.5, 0.5], [True, True, False]) == math.inf
    assert fit_threshold([0.5, 0.5, 0.5], [True, False, False]) == 0.0


@pytest.mark.parametrize(
    ("entropies", "right", "message"),
    [
        ([], [], "entropies is of shape (0,)"),
        ([0.1, 0.2], [True], "entropies is of shape (2,) and right of (1,)"),
        ([0.1, -0.2], [True, False], "entropies has a value that is negative"),
        ([0.1, math.nan], [True, False], "entropies has a value that is negative or not finite"),
        ([0.1, 0.2], [True, 0.5], "right has a value that is neither"),
    ],
    ids=["none", "lengths", "negative", "NaN", "shares"],
)
def test_what_is_no_choice_is_said(entropies, right, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fit_threshold(entropies, right)
