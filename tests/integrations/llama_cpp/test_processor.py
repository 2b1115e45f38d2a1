"""The logits processor for llama-cpp-python, called as that library calls it."""

from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.integrations.llama_cpp import LogitsProcessor
from tests.mask_bits import ids_of
from tests.masks.machines.stack.stack_examples import COMPILED

VOCAB = COMPILED["hostile"]
CONSTRAINT = gl.compile(gl.Regex("(ab|c){1,4}"), VOCAB)


def expected(tokens: list[int], constraint: gl.Constraint = CONSTRAINT) -> set[int]:
    matcher, mask = constraint.matcher(), gl.allocate_mask(1, VOCAB.size)
    for token in tokens:
        assert matcher.advance(token)
    matcher.fill_mask(mask)
    return set(ids_of(mask[0]))


def called(processors: Any, ids: list[int], scores: np.ndarray | None = None) -> set[int]:
    """The tokens that are left, as the library applies a list."""
    found = np.random.default_rng(0).normal(size=VOCAB.size).astype(np.float32) if scores is None else scores
    for processor in processors:
        found = processor(np.array(ids, np.intc), found)
    return set(np.flatnonzero(found != -np.inf).tolist())


def test_a_text_is_followed_and_another_prompt_begins_another() -> None:
    held = LogitsProcessor(CONSTRAINT)
    for prompt in ([1, 2, 3], [1, 2], [1, 2, 3]):
        tokens: list[int] = []
        for _ in range(6):
            allowed = called(held, prompt + tokens)
            assert allowed == expected(tokens)
            following = sorted(allowed - set(VOCAB.stop_ids))
            if not following:
                break
            tokens.append(following[0])
        assert tokens


def test_kept_scores_are_untouched() -> None:
    scores = np.random.default_rng(1).normal(size=VOCAB.size).astype(np.float32)
    before = scores.copy()
    masked = LogitsProcessor(CONSTRAINT)[0](np.array([1], np.intc), scores)
    assert np.array_equal(scores, before)
    kept = masked != -np.inf
    assert np.array_equal(masked[kept], scores[kept])


def test_a_list_that_is_extended_keeps_the_constraint() -> None:
    def bias(ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores + 1

    assert called(LogitsProcessor(CONSTRAINT).extend([bias]), [1]) == expected([])


def test_drafts_end_the_text() -> None:
    held = LogitsProcessor(CONSTRAINT)
    called(held, [1, 2])
    assert called(held, [1, 2, 3, 4]) == set(VOCAB.stop_ids)
    assert "draft_model" in held.error
    assert called(held, [1, 2]) == expected([])
    assert not held.error


def test_nothing_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception would be dropped by llama.cpp, and the scores would stay as they are."""

    def broken(*_: Any) -> Any:
        raise MemoryError("no more")

    held = LogitsProcessor(CONSTRAINT)
    monkeypatch.setattr(gl.Matcher, "fill_mask", broken)
    assert called(held, [1, 2]) == set(VOCAB.stop_ids)
    assert held.error == "no more"


def test_after_a_refused_token_the_text_may_only_end() -> None:
    held = LogitsProcessor(CONSTRAINT)
    allowed = called(held, [1, 2])
    wrong = min(set(range(VOCAB.size)) - allowed)
    assert called(held, [1, 2, wrong]) == set(VOCAB.stop_ids)
    assert called(held, [1, 2, wrong, 0]) == set(VOCAB.stop_ids)


def test_where_all_is_forbidden_the_constraint_prevails() -> None:
    assert called(LogitsProcessor(CONSTRAINT), [1], np.full(VOCAB.size, -np.inf, np.float32)) == expected([])


def test_budgets() -> None:
    held, tokens = LogitsProcessor(CONSTRAINT, max_tokens=3), list[int]()
    while following := sorted((allowed := called(held, [7, *tokens])) - set(VOCAB.stop_ids)):
        tokens.append(following[-1])
    assert len(tokens) <= 3
    assert allowed == set(VOCAB.stop_ids)
    with pytest.raises(ValueError, match="max_tokens=0"):
        LogitsProcessor(CONSTRAINT, max_tokens=0)
