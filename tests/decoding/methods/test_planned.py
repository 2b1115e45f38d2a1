"""method="planned": judged by the two calls that it stands for."""

import json
import re

import jsonschema
import pytest

import grammarlm as gl
from grammarlm.decoding.logits.sampling import Sampling
from tests.decoding.methods.two_models import FIRST, PROMPTS, TEXTS, VOCAB, generate, wrong_after

SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["age"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("draft", [{}, {"max_tokens": 3}, {"max_tokens": 4, "temperature": 0.7, "top_k": 2}], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"temperature": 1.0}, {"where": lambda text: "ad" not in text}], ids=["greedy", "drawn", "where"]
)
def test_a_plan_is_two_calls(options, draft):
    for seed in range(3):
        given = {"max_tokens": 9, "seed": seed, "choices": TEXTS, **options}
        found = generate("planned", n=3, draft=draft, join=[1, 1], **given)
        settings = {name: given[name] for name in ("max_tokens", "seed", "temperature") if name in given}
        for number, prompt in enumerate(PROMPTS):
            drafts = gl.generate(FIRST, prompt, vocab=VOCAB, n=3, **{**settings, **draft})
            for sample, own in enumerate(drafts):
                out = found[3 * number + sample]
                assert out.draft == own.text
                its_seed = Sampling(temperature=1.0, seed=seed).of_sample(sample).seed
                [alone] = generate("masked", [[*prompt, *own.tokens, 1, 1]], **{**given, "seed": its_seed})
                assert (out.tokens, out.logprobs, out.value) == (alone.tokens, alone.logprobs, alone.value)
                assert out.stats.forwards == alone.stats.forwards + own.stats.forwards


def test_a_plan_under_a_schema(model, tokenizer):
    given = {"tokenizer": tokenizer, "schema": SCHEMA, "max_tokens": 20, "method": "planned"}
    prompts = ["the cat", "a 100 year old"]
    found = gl.generate(model, prompts, draft={"max_tokens": 5}, join=" a: ", batch_size=1, **given)
    for prompt, out in zip(prompts, found, strict=True):
        jsonschema.validate(json.loads(out.text), SCHEMA)
        ids = tokenizer(prompt)["input_ids"]
        own = gl.generate(model, ids, tokenizer=tokenizer, max_tokens=5)
        vocab = gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=[2])
        joined = [*ids, *own.tokens, *vocab.encode(" a: ")]
        alone = gl.generate(model, joined, tokenizer=tokenizer, schema=SCHEMA, max_tokens=20)
        assert (out.draft, out.tokens) == (own.text, alone.tokens)


def test_a_draft_that_fails_is_its_answers_failure():
    bad, good = generate("planned", [[2], [3]], model=wrong_after(float("nan"), [0, 1]), max_tokens=9)
    assert (bad.finish_reason, bad.value, good.error) == ("error", None, None)
    assert "no distribution" in bad.error


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"draft": "copy"}, TypeError, "draft is 'copy'; with method='planned' it takes settings of the free answer"),
        ({"draft": {"max_token": 5}}, TypeError, "draft() has no argument max_token=; did you mean max_tokens=?"),
        ({"draft": {"max_tokens": 0}}, ValueError, "max_tokens=0; it takes an integer of 1 or more"),
        ({"join": [9]}, ValueError, "join has the id 9; ids are from 0 to 4"),
        ({"join": 5}, TypeError, "join is int"),
        ({"method": "masked", "draft": {"max_tokens": 5}}, TypeError, "draft"),
    ],
    ids=["drafter", "unknown", "none", "id", "number", "masked"],
)  # fmt: skip
def test_what_cannot_be_done_is_said(options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate(**{"method": "planned", "max_tokens": 9, **options})


def test_the_end_of_a_prompt_is_not_healed(model, tokenizer):
    with pytest.raises(
        ValueError, match="heal=True takes the prompt's end back, where method='planned' writes a draft"
    ):
        gl.generate(model, "the ca", tokenizer=tokenizer, regex="[a-z]{3}", heal=True, method="planned")
