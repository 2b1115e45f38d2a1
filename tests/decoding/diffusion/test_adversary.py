"""Random logits that like best what is least often allowed, any sampler, any options: every row is in the language, unrepaired."""

import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion import SAMPLERS
from tests.decoding.diffusion.languages import LANGUAGES, agreeing
from tests.decoding.diffusion.mock_models import Adversary

COUNTS = [pytest.param(12, id="quick"), pytest.param(200, id="200", marks=pytest.mark.proof)]


def options_of(random, length) -> dict:
    return {
        "steps": (None, 1, 2, length)[random.integers(4)],
        "block": (None, None, 1, 2, 3)[random.integers(5)],
        "temperature": (0.0, 1.0)[random.integers(2)],
        "seed": int(random.integers(1000)),
    }


def check_trace(out, holes, model) -> None:
    """Each masked position is in one step, and every call of the model is counted once."""
    committed = [at for step in out.stats.trace for at in step.committed]
    assert sorted(committed) == [at for at, token in enumerate(holes) if token < 0]
    assert sum(step.model_calls for step in out.stats.trace) == model.calls == out.stats.forwards
    for step in out.stats.trace:
        assert [out.tokens[at] for at in step.committed] == step.tokens
        assert set(step.rejected) <= set(committed)
        assert step.model_ms >= 0
        assert step.canvas_ms >= 0


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_row_is_in_the_language(sampler, count) -> None:
    matchers = {name: gl.compile(one.grammar, one.vocab) for name, one in LANGUAGES.items()}
    names = list(LANGUAGES)
    for number in range(count):
        random = np.random.default_rng(number)
        language = LANGUAGES[names[number % len(names)]]
        holes = language.holes(random, (0.4, 0.7, 1.0)[number % 3])
        model = Adversary(language.width, [0, language.stop], number)
        options = options_of(random, language.length)
        out = language.infill(model, holes, sampler=sampler, **options)
        assert len(agreeing(agreeing(language.rows, holes), out.tokens)) == 1, (sampler, options, holes, out.tokens)
        assert re.fullmatch(language.pattern, out.text)
        text = [token for token in out.tokens if token != language.stop]
        assert out.text == language.text(out.tokens)
        assert out.stats.tokens == len(text)
        matcher = matchers[names[number % len(names)]].matcher()
        assert matcher.validate(text) == len(text)
        check_trace(out, holes, model)


def test_any_choice_at_all_is_safe() -> None:
    """Samplers of one's own: random positions, random ids, any `least`."""
    for number in range(60):
        random = np.random.default_rng(number)
        language = list(LANGUAGES.values())[number % len(LANGUAGES)]

        def anything(look, random=random):
            from grammarlm.decoding.diffusion import Choice

            positions = random.permutation(look.positions)[: 1 + random.integers(len(look.positions))]
            width = look.table.shape[1]
            return Choice(
                positions.tolist(), random.integers(0, width, len(positions)).tolist(), int(random.integers(1, 4))
            )

        holes = language.holes(random)
        model = Adversary(language.width, [0], number)
        out = language.infill(model, holes, sampler=anything)
        assert len(agreeing(agreeing(language.rows, holes), out.tokens)) == 1
        check_trace(out, holes, model)


def test_a_choice_that_commits_nothing_is_refused() -> None:
    from grammarlm.decoding.diffusion import Choice

    with pytest.raises(ValueError, match="no position"):
        LANGUAGES["words"].infill(Adversary(5, [0], 0), sampler=lambda look: Choice([], []))
    with pytest.raises(ValueError, match="position 0"):
        LANGUAGES["words"].infill(Adversary(5, [0], 0), [1, -1, -1, -1, -1], sampler=lambda look: Choice([0], [1]))
