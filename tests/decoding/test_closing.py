"""Answers always end within max_tokens, in a value that is valid, whatever the model wants to write."""

import json
import random
from collections import Counter

import jsonschema
import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.json_laws import WALKED
from tests.oracles.json_schema_oracle import Judge, NoVerdict
from tests.oracles.random_json_schemas import RandomSchemas

torch = pytest.importorskip("torch")
pydantic = pytest.importorskip("pydantic")

SPARE = (0, 1, 2, 7, 40)


def babbling(seed: int):
    """A callable whose logits depend on the last id alone, at random: it seldom wants to stop."""
    table = torch.randn(WALKED.size, WALKED.size, generator=torch.Generator().manual_seed(seed))
    table[:, list(WALKED.stop_ids)] -= 3.0
    return lambda ids: table[ids]


MODEL = babbling(1)


def check_schema(schema, rng: random.Random, **options) -> Counter:
    """All budgets from the smallest on, in one batch for each: a draw and the most probable answer."""
    try:
        grammar = gl.JsonSchema(schema)
        least = gl.compile(grammar, WALKED).matcher().min_tokens_left
    except (gl.UnsatisfiableGrammar, gl.UnsupportedFeature, gl.LimitExceeded):
        return Counter(refused=1)
    judge, outcomes = Judge(schema), Counter(schemas=1)
    with pytest.raises(ValueError, match=f"max_tokens={max(least, 1) - 1}"):
        gl.generate(MODEL, [0], vocab=WALKED, schema=grammar, max_tokens=max(least, 1) - 1)
    for spare in SPARE:
        sampling = {"temperature": rng.choice([0.0, 1.0, 3.0]), "seed": rng.randrange(1000), "n": 2}
        budget = max(least, 1) + spare
        for out in gl.generate(MODEL, [0], vocab=WALKED, schema=grammar, max_tokens=budget, **sampling, **options):
            where = f"{json.dumps(schema)[:2000]} with {budget} tokens, {sampling}: {out.text!r}"
            assert len(out.tokens) <= budget, where
            assert out.finish_reason in ("stop", "closed"), where
            try:
                assert judge.valid(out.text), where
            except NoVerdict:
                outcomes["no verdict"] += 1
            outcomes[out.finish_reason] += 1
    return outcomes


def check_many(seed: str, count: int) -> Counter:
    supply, rng, outcomes = RandomSchemas(seed), random.Random(seed), Counter()
    while outcomes["schemas"] < count:
        outcomes += check_schema(supply.schema(), rng)
    return outcomes


@tiers("seed, count", ("closing", 5), ("closing, many", 500))
def test_answers_close_within_their_budget(seed: str, count: int, record_property) -> None:
    outcomes = check_many(seed, count)
    assert outcomes["closed"] > 10
    assert outcomes["stop"] > 5
    record_property("cases", outcomes["stop"] + outcomes["closed"])
    record_counts(record_property, outcomes)


def test_a_budget_that_nobody_touches_changes_nothing() -> None:
    options = {"vocab": WALKED, "regex": "[a-z]{3,9}", "temperature": 1.0}
    for seed in range(20):
        wide = gl.generate(MODEL, [0], seed=seed, max_tokens=200, **options)
        assert wide.finish_reason == "stop"
        exact = gl.generate(MODEL, [0], seed=seed, max_tokens=len(wide.tokens) + 12, **options)
        assert (exact.tokens, exact.finish_reason) == (wide.tokens, "stop")


def test_closed_where_the_budget_had_a_say() -> None:
    options = {"vocab": WALKED, "temperature": 1.0}
    for seed in range(20):
        free = gl.generate(MODEL, [0], seed=seed, max_tokens=60, regex="[a-z]{3,}x", close=False, **options)
        out = gl.generate(MODEL, [0], seed=seed, max_tokens=5, regex="[a-z]{3,}x", **options)
        assert out.finish_reason == "closed" or out.tokens == free.tokens
        assert out.text.endswith("x")
    last = gl.generate(MODEL, [0], max_tokens=3, regex="abab|ab", vocab=gl.Vocabulary([b"ab", b""], stop_ids=[1]))
    assert last.finish_reason in ("stop", "closed")


def test_a_text_of_several_parts_is_closed_too() -> None:
    grammar = gl.Text(until="!") + gl.JsonSchema(True)
    out = gl.generate(MODEL, [0], vocab=WALKED, grammar=grammar, max_tokens=3)
    assert out.finish_reason in ("stop", "closed")
    assert out.stats.closes
    json.loads(out.text.partition("!")[2])


class Address(pydantic.BaseModel):
    street: str = pydantic.Field(max_length=30)
    number: int = pydantic.Field(ge=1, le=9999)


class Order(pydantic.BaseModel):
    customer: str
    quantity: int
    price: float
    paid: bool | None = None
    where: list[Address] = pydantic.Field(max_length=3)


PROMPTS = ("Ada Lovelace ordered 7 lamps.\n", "{", "", "Nothing was ordered, and nobody paid.\n")


def check_demo_model(count: int) -> Counter:
    """Sampled hot and cold, with small budgets and large: each answer is an Order, and jsonschema thinks so too."""
    model, tokenizer = gl.load_tiny()
    prompts = [prompt or [2] for prompt in PROMPTS]
    least = gl.compile(gl.JsonSchema(Order), gl.Vocabulary.from_tokenizer(tokenizer)).matcher().min_tokens_left
    validator, outcomes = jsonschema.Draft202012Validator(Order.model_json_schema()), Counter()
    for seed in range(count // 8):
        options = {
            "temperature": (0.7, 1.2, 2.0)[seed % 3],
            "seed": seed,
            "n": 2,
            "max_tokens": least + (0, 3, 20, 90)[seed % 4],
        }
        for out in gl.generate(model, prompts, tokenizer=tokenizer, schema=Order, **options):
            assert isinstance(out.value, Order), (options, out)
            assert validator.is_valid(json.loads(out.text)), out.text
            outcomes[out.finish_reason] += 1
    return outcomes


@tiers("count", 16, 1000)
def test_the_embedded_model_writes_what_was_asked_for(count: int, record_property) -> None:
    outcomes = check_demo_model(count)
    assert outcomes.total() == count
    record_property("cases", count)
    record_counts(record_property, outcomes)
