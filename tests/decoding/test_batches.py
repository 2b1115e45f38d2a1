"""A batch gives what single calls give, whatever the model's cache; so do forced tokens that share a forward, and n answers."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.readers import cached as cached_reader
from grammarlm.decoding.readers.cached import static_caches_are_right
from tests.decoding.random_models import encoder_decoder, random_model
from tests.rounding import LOG_P, P

torch = pytest.importorskip("torch")

PROMPTS = ["the cat sat at", "a", "the hat and the cat in a 100 year old café", "2024"]
PATTERNS = [
    r"\{\"name\":\"[a-z]{1,9}\",\"year\":[0-9]{4},\"cats\":(true|false)\}",
    r"[a-z ]{5,20}",
    None,
    r"(the|a) (cat|hat)s?",
]
KINDS = {
    "Llama": {},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "Mistral": {"sliding_window": 4},
    "Gemma2": {"sliding_window": 4},
    "Mamba": {},
    "Bloom": {"n_layer": 2, "n_head": 4},
}


def facts(out):
    return out.tokens, out.text, out.value, out.finish_reason


def assert_same(left, right):
    """Equal texts, and figures up to the rounding of another shape of the same sums."""
    assert facts(left) == facts(right)
    for name in ("logprobs", "model_logprobs"):
        np.testing.assert_allclose(getattr(left, name), getattr(right, name), rtol=0, atol=LOG_P)
    np.testing.assert_allclose(left.stats.mass_removed, right.stats.mass_removed, rtol=0, atol=P)


@pytest.mark.parametrize("cache", ["dynamic", "static", "off"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_its_single_calls(kind, cache, tokenizer):
    if cache == "static" and (kind in ("Mamba", "Bloom") or not static_caches_are_right()):
        pytest.skip("no static cache")
    model = random_model(kind, len(tokenizer), **KINDS[kind])
    options = {"tokenizer": tokenizer, "max_tokens": 40, "temperature": 0.9, "seed": 5}
    singles = [
        gl.generate(model, prompt, regex=pattern, forced="off", **options)
        for prompt, pattern in zip(PROMPTS, PATTERNS, strict=True)
    ]
    for forced in ("score", "off"):
        together = gl.generate(model, PROMPTS, regex=PATTERNS, forced=forced, cache=cache, **options)
        for one, other in zip(singles, together, strict=True):
            assert_same(one, other)


def test_static_caches_that_are_wrong_are_refused(model, tokenizer, monkeypatch):
    """Up to transformers 5.3: a batch of a Llama had other answers than its prompts alone."""
    monkeypatch.setattr(cached_reader.transformers, "__version__", "5.3.1")
    with pytest.raises(gl.UnsupportedFeature, match=r"transformers 5\.4 or newer, this is 5\.3\.1; leave cache= out"):
        gl.generate(model, "the", tokenizer=tokenizer, regex="[ab]", max_tokens=4, cache="static")
    monkeypatch.setattr(model.generation_config, "cache_implementation", "static")
    assert gl.generate(model, "the", tokenizer=tokenizer, regex="[ab]", max_tokens=4).text in {"a", "b"}


@pytest.mark.parametrize("kind", ["T5", "Bart"])
def test_encoder_decoder_models(kind, tokenizer):
    model = encoder_decoder(kind, len(tokenizer))
    options = {"tokenizer": tokenizer, "max_tokens": 40, "temperature": 0.9, "seed": 5}
    singles = [
        gl.generate(model, prompt, regex=pattern, forced="off", **options)
        for prompt, pattern in zip(PROMPTS, PATTERNS, strict=True)
    ]
    for out, prompt, pattern in zip(singles, PROMPTS, PATTERNS, strict=True):
        assert_same(out, gl.generate(model, prompt, regex=pattern, **options))
    for one, other in zip(singles, gl.generate(model, PROMPTS, regex=PATTERNS, **options), strict=True):
        assert_same(one, other)
    # against a forward of everything: greedy, without a constraint
    free = gl.generate(model, PROMPTS[0], tokenizer=tokenizer, max_tokens=8)
    ids, written = tokenizer(PROMPTS[0], return_tensors="pt")["input_ids"], [model.config.decoder_start_token_id]
    for token in free.tokens:
        with torch.no_grad():
            logits = model(input_ids=ids, decoder_input_ids=torch.tensor([written]), use_cache=False).logits[0, -1]
        assert token == int(logits[: len(tokenizer)].argmax())
        written.append(token)


def test_n_answers_share_the_prefill(model, tokenizer):
    read = []
    model_forward = model.forward

    def forward(input_ids, **options):
        read.append(tuple(input_ids.shape))
        return model_forward(input_ids=input_ids, **options)

    options = {"tokenizer": tokenizer, "regex": "[a-z ]{6,9}", "temperature": 1.0, "seed": 3}
    model.forward = forward
    try:
        outs = gl.generate(model, PROMPTS[:2], n=3, **options)
    finally:
        del model.forward
    assert read[0][0] == 2
    assert read[1][0] == 6
    assert len(outs) == 6
    for prompt, three in zip(PROMPTS[:2], (outs[:3], outs[3:]), strict=True):
        assert len({out.text for out in three}) > 1
        assert_same(gl.generate(model, prompt, **options), three[0])
        for one, other in zip(gl.generate(model, prompt, n=3, **options), three, strict=True):
            assert_same(one, other)


def test_a_budget_is_refused_before_the_first_forward(tokenizer):
    vocab, calls = gl.Vocabulary.from_tokenizer(tokenizer), []

    def model(ids):
        calls.append(ids)
        return torch.zeros(*ids.shape, vocab.size)

    for size in (1, 8):
        with pytest.raises(ValueError, match="max_tokens=5 may not be enough"):
            gl.generate(
                model, [[1], [2], [3]], vocab=vocab, regex=["a", None, "[0-9]{9}"], max_tokens=5, batch_size=size
            )
    assert not calls
