"""agenerate() gives generate()'s answers, token for token, whoever else is answered at the same time, comes later or goes away."""

import asyncio
import random
from functools import partial

import pytest

import grammarlm as gl
from grammarlm.decoding.readers.kept import LEAST, KeptTexts
from tests.counts import record_counts, tiers
from tests.decoding.random_models import encoder_decoder, random_model
from tests.rounding import embedded_model

torch = pytest.importorskip("torch")

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["age"]}
PROMPTS = ["the cat sat at", "a", "the hat and the cat in a 100 year old café", "2024"]
ASKED = [
    {"regex": r"\{\"name\":\"[a-z]{1,9}\",\"year\":[0-9]{4},\"cats\":(true|false)\}", "temperature": 0.9},
    {"regex": r"[a-z ]{5,20}"},
    {"max_tokens": 12, "temperature": 1.1},
    {"choices": ["the cat", "a hat", "a hat and a cat"], "temperature": 2.0},
    {"schema": PERSON, "max_tokens": 60, "temperature": 0.7},
    {"regex": "[a-z]{6,9}", "temperature": 1.0, "n": 3},
    {"stop": ["e", "a"], "max_tokens": 20, "temperature": 1.0},
    {"where": lambda text: "e" not in text, "max_tokens": 9, "temperature": 1.0},
    {"forced": "off", "schema": PERSON, "max_tokens": 40},
    {"repetition_penalty": 1.3, "top_p": 0.9, "max_tokens": 10, "temperature": 1.0},
]
KINDS = {
    "Llama": {},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "Mistral": {"sliding_window": 4},
    "Mamba": {},
}


def facts(out):
    if isinstance(out, list):
        return [facts(one) for one in out]
    return out.tokens, out.text, out.value, out.finish_reason, out.stopped_by, out.error


def asked_of(rng, prompts, options):
    """A call: one prompt, or now and then several."""
    prompt = rng.choice(prompts) if rng.random() < 0.8 else rng.sample(prompts, 3)
    return prompt, {"seed": rng.randrange(1000), "max_tokens": 40, **rng.choice(ASKED), **options}


async def called(ask, prompt, options, arrives, leaves):
    """The answer to a call that comes after `arrives` seconds; None where it is cancelled `leaves` seconds later."""
    await asyncio.sleep(arrives)
    task = asyncio.create_task(ask(prompt, **options))
    if leaves is None:
        return await task
    await asyncio.wait([task], timeout=leaves)
    task.cancel()
    return (await asyncio.gather(task, return_exceptions=True))[0] if task.done() else None


async def called_together(ask, calls, rng, at_once, spread):
    """The answers to calls, so many at once, a fifth of which are cancelled at some time."""
    places = asyncio.Semaphore(at_once)

    async def one(prompt, options):
        leaves = rng.random() * spread if rng.random() < 0.2 else None
        async with places:
            return await called(ask, prompt, options, rng.random() * spread, leaves)

    return await asyncio.gather(*(one(*each) for each in calls))


def check_answers(model, prompts, options, calls, at_once, record_property, ask=None):
    """`ask`: what is awaited in place of gl.agenerate, with the model that it is asked of."""
    rng = random.Random(at_once)
    wanted = [asked_of(rng, prompts, options) for _ in range(calls)]
    found = asyncio.run(called_together(ask or partial(gl.agenerate, model), wanted, rng, at_once, spread=0.05))
    answered = [at for at, out in enumerate(found) if out is not None and not isinstance(out, asyncio.CancelledError)]
    assert len(answered) >= calls // 2
    for at in answered:
        prompt, asked = wanted[at]
        assert facts(found[at]) == facts(gl.generate(model, prompt, **asked)), (prompt, asked)
    record_counts(record_property, {"calls": calls, "answered": len(answered)}, cases="answered")


@tiers("calls", 12, 300)
@pytest.mark.parametrize("at_once", [1, 3, 16])
@pytest.mark.parametrize("kind", KINDS)
def test_random_weights(kind, at_once, calls, tokenizer, record_property):
    model = random_model(kind, len(tokenizer), **KINDS[kind])
    check_answers(model, PROMPTS, {"tokenizer": tokenizer}, calls, at_once, record_property)


LONG = "the hat and the cat sat at the cat in a 100 year old café, and in 2024 the hat sat at a hat"


@tiers("calls", 16, 300)
@pytest.mark.parametrize("at_once", [1, 3, 16])
@pytest.mark.parametrize("kind", ["Llama", "Mistral"])
def test_generators_of_one_model(kind, at_once, calls, tokenizer, record_property):
    """Each keeps what it has read for its next calls, which begin with the texts of those before; their calls share forwards."""
    model = random_model(kind, len(tokenizer), **KINDS[kind])
    rng, prompts = random.Random(at_once), [LONG[:end] for end in range(20, len(LONG), 5)]
    generators = [gl.Generator(model, tokenizer=tokenizer, keep=keep) for keep in (2, 3)]
    read = []

    def ask(prompt, **options):
        return rng.choice(generators).agenerate(prompt, **options)

    def noted(self, prompts, room):
        reader = open_kept(self, prompts, room)
        read.extend(map(len, reader.beginnings))
        return reader

    open_kept = KeptTexts.open
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeptTexts, "open", noted)
        check_answers(model, prompts, {"tokenizer": tokenizer}, calls, at_once, record_property, ask)
    assert kind != "Llama" or min(read) < LEAST  # of no whole prompt


@tiers("calls", 16, 100)
def test_an_encoder_and_a_decoder(calls, tokenizer, record_property):
    model = encoder_decoder("T5", len(tokenizer))
    check_answers(model, PROMPTS, {"tokenizer": tokenizer}, calls, 3, record_property)


@tiers("calls", 16, 300)
def test_a_function_of_ids(calls, tokenizer, record_property):
    table = torch.randn(400, len(tokenizer), generator=torch.Generator().manual_seed(1))

    def model(ids):
        return table[ids.cumsum(1) % 400]

    check_answers(model, PROMPTS, {"tokenizer": tokenizer}, calls, 16, record_property)


@tiers("calls", 8, 500)
@pytest.mark.parametrize("at_once", [3, 16])
def test_the_embedded_model(at_once, calls, record_property):
    model, tokenizer = embedded_model()
    prompts = ["Mira Tolan ordered seven steel lamps.\n", "Count 15 minutes.\n", "Ada, 36.\n", "Due on 4 May 2031: "]
    check_answers(model, prompts, {"tokenizer": tokenizer}, calls, at_once, record_property)


@pytest.mark.parametrize("asked", ASKED, ids="-".join)
def test_events_are_those_of_stream(asked, model, tokenizer):
    options = {"tokenizer": tokenizer, "seed": 7, "max_tokens": 40, **asked}

    async def events(prompt):
        return [event async for event in gl.astream(model, prompt, **options)]

    async def several():
        return await asyncio.gather(*(events(prompt) for prompt in PROMPTS))

    for prompt, found in zip(PROMPTS, asyncio.run(several()), strict=True):
        *told, end = found
        *expected, last = gl.stream(model, prompt, **options)
        assert facts(end.result) == facts(last.result)
        for row in range(asked.get("n", 1)):  # the events of several answers come in another order
            assert [repr(one) for one in told if one.row == row] == [repr(one) for one in expected if one.row == row]


def test_events_of_a_generator_are_those_of_its_stream(model, tokenizer):
    people = gl.Generator(model, PERSON, tokenizer=tokenizer, seed=7, max_tokens=60)

    async def events(prompt):
        return [event async for event in people.astream(prompt, temperature=0.7)]

    for prompt in PROMPTS:
        *told, end = asyncio.run(events(prompt))
        *expected, last = people.stream(prompt, temperature=0.7)
        assert facts(end.result) == facts(last.result)
        assert list(map(repr, told)) == list(map(repr, expected))


def test_retries_are_those_of_generate(model, tokenizer):
    options = {
        "tokenizer": tokenizer,
        "regex": "[0-9]{2}",
        "check": lambda text: int(text) % 7 == 0,
        "retries": 30,
        "seed": 1,
        "temperature": 1.0,
        "n": 2,
    }
    expected = gl.generate(model, PROMPTS, **options)
    found = asyncio.run(gl.agenerate(model, PROMPTS, **options))
    assert facts(found) == facts(expected)
    assert [out.tries for out in found] == [out.tries for out in expected]
    assert max(out.tries for out in found) > 1
