"""Everyday features keep their word whatever a model wants to write: each answer is what was asked for, by a reader that shares no
code, and the events of its stream, put together, are the result."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.decoding.everyday.features import FEATURES, Feature
from tests.decoding.json_rebuilding import check_events
from tests.rounding import embedded_model

torch = pytest.importorskip("torch")

MOST_TOGETHER = 25  # answers to a prompt, which share its forwards
SPARE = (0, 3, 10, 40, 100)  # tokens beyond those that an answer needs


@pytest.fixture(scope="module")
def tiny():
    """In float64: what drafts share a forward depends on times, and sums of floats on what shares a forward."""
    return embedded_model()


@pytest.fixture(scope="module")
def babbler(tiny):
    """The same model with random weights, large enough for distributions that are not flat."""
    import transformers

    torch.manual_seed(0)
    config = type(tiny[0].config).from_dict({**tiny[0].config.to_dict(), "initializer_range": 0.2})
    return transformers.AutoModelForCausalLM.from_config(config).double().eval(), tiny[1]


def asked_for(feature: Feature, number: int, together: int, rng: random.Random) -> dict[str, Any]:
    return {
        **feature.asked,
        "n": together,
        "max_tokens": feature.least + SPARE[number % len(SPARE)],
        "temperature": rng.choice([0.7, 1.0, 2.0]),
        "seed": rng.randrange(1000),
    }


async def awaited(model: Any, prompt: Any, asked: dict[str, Any]) -> Any:
    return await gl.agenerate(model, prompt, **asked)


def check_feature(name: str, count: int, model: Any, tokenizer: Any) -> Counter[str]:
    """How answers ended."""
    feature, rng, outcomes = FEATURES[name], random.Random(name), Counter[str]()
    together = min(count, MOST_TOGETHER)
    for number in range(count // together):
        asked = {**asked_for(feature, number, together, rng), "tokenizer": tokenizer}
        events: list[Any] = []
        if feature.is_streamed:
            *events, last = gl.stream(model, feature.prompt, **asked)
            outs = last.result
        else:
            outs = gl.generate(model, feature.prompt, **asked)
        for row, out in enumerate(outs):
            where = f"{name}, max_tokens={asked['max_tokens']}, {asked['temperature']}, seed {asked['seed']}, {row}: {out.text!r}"
            assert out.finish_reason in feature.ends, f"{out.finish_reason}: {where}"
            assert len(out.tokens) <= asked["max_tokens"], where
            try:
                feature.check(out)
                if feature.is_streamed:
                    check_events([event for event in events if event.row == row], out)
            except (AssertionError, KeyError, ValueError) as error:
                raise AssertionError(f"{where}\n{error}") from error
            outcomes[out.finish_reason] += 1
        if number % 10 == 0:
            again = asyncio.run(awaited(model, feature.prompt, asked))
            assert [out.tokens for out in again] == [out.tokens for out in outs], asked
    return outcomes


@pytest.mark.parametrize("name", FEATURES)
@tiers("count", 10, 1000)
def test_answers_of_random_weights(name: str, count: int, babbler: Any, record_property: Any) -> None:
    outcomes = check_feature(name, count, *babbler)
    record_counts(record_property, {**outcomes, "answers": outcomes.total()}, cases="answers")


@pytest.mark.parametrize("name", FEATURES)
@tiers("count", 5, 500)
def test_answers_of_the_embedded_model(name: str, count: int, tiny: Any, record_property: Any) -> None:
    outcomes = check_feature(name, count, *tiny)
    record_counts(record_property, {**outcomes, "answers": outcomes.total()}, cases="answers")
