"""Whole answers of a model on a CUDA device, beside the same model's on the CPU and what the grammar takes."""

import json

import jsonschema
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.speculative.drafters.heads import Heads
from grammarlm.published.drafters.features import Features
from tests.rounding import embedded_model
from training.corpus import constraint, example

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]
ASKED = [example("heldout", index, "record") for index in range(6)]
SCHEMA = constraint(ASKED[0].form)["schema"]
PROMPTS = [each.prompt for each in ASKED if each.form == ASKED[0].form] or [ASKED[0].prompt]


@pytest.fixture(scope="module")
def models():
    """(on the device, on the CPU, tokenizer)."""
    (there, tokenizer), (here, _) = embedded_model(), embedded_model()
    return there.cuda(), here, tokenizer


def answers(model, tokenizer, prompts=PROMPTS, **options):
    found = gl.generate(model, prompts, tokenizer=tokenizer, max_tokens=96, schema=SCHEMA, **options)
    return [output.text for output in found]


def check(texts):
    for text in texts:
        jsonschema.validate(json.loads(text), SCHEMA)


@pytest.mark.parametrize(
    "options",
    [{}, {"forced": "off"}, {"draft": "auto"}, {"draft": "suffix"}, {"draft": "copy"}],
    ids=str,
)
def test_greedy_answers_are_those_of_the_cpu(models, options):
    there, here, tokenizer = models
    texts = answers(there, tokenizer, **options)
    assert texts == answers(here, tokenizer)
    check(texts)


@pytest.mark.parametrize("trained", ["draft", "heads", "features"])
def test_trained_drafts_change_no_answer(models, trained):
    there, _, tokenizer = models
    model = embedded_model(**{trained: True})[0].cuda()
    drafter = {"draft": lambda: model, "heads": lambda: Heads(model), "features": lambda: Features(model)}[trained]()
    assert answers(there, tokenizer, draft=gl.Draft(drafter, length=4)) == answers(there, tokenizer)


@pytest.mark.parametrize(
    "options",
    [{"temperature": 1.0}, {"temperature": 0.8, "top_k": 20, "top_p": 0.9}, {"temperature": 1.5, "min_p": 0.02}],
    ids=str,
)
def test_draws_are_texts_of_the_grammar_and_hang_on_the_seed(models, options):
    there, _, tokenizer = models
    texts = answers(there, tokenizer, seed=3, **options)
    check(texts)
    assert texts == answers(there, tokenizer, seed=3, **options)


def test_the_processor_of_transformers(models):
    there, here, tokenizer = models
    texts = []
    for model in (there, here):
        inputs = tokenizer(PROMPTS[0], return_tensors="pt").to(model.device)
        processor = gl.LogitsProcessor(gl.compile(gl.JsonSchema(SCHEMA), gl.Vocabulary.from_tokenizer(tokenizer)))
        ids = model.generate(**inputs, max_new_tokens=96, do_sample=False, logits_processor=[processor])
        texts.append(tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
    assert texts[0] == texts[1]
    check(texts)


def test_infilling(models):
    _, _, tokenizer = models
    networks = [embedded_model(diffusion=True)[0] for _ in range(2)]
    there, here = networks[0].cuda(), networks[1]
    found = [
        gl.infill(
            model, [gl.Hole(most=48)], prompt=PROMPTS[0], tokenizer=tokenizer, schema=SCHEMA, sampler="fixed", steps=16
        )
        for model in (there, here)
    ]
    assert found[0].text == found[1].text
