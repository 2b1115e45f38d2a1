"""method="superposed": one draft is greedy, several cost the forwards of one, and each keeps to its own grammar state."""

import math
import re
from functools import wraps

import numpy as np
import pytest
import torch

import grammarlm as gl
from tests.decoding.methods.two_models import TEXTS
from tests.decoding.random_models import random_model
from tests.decoding.readers.sources import CAUSAL

SCHEMA = {"type": "array", "items": {"enum": ["red", "green", "blue", 1, 2]}, "minItems": 2, "maxItems": 3}


@pytest.mark.parametrize("cache", ["dynamic", "off"])
@pytest.mark.parametrize("kind", ["Llama", "GPT2", "Gemma2"])
def test_one_draft_is_masked(tokenizer, kind, cache):
    """Superposed: one draft is greedy."""
    model = random_model(kind, len(tokenizer), **CAUSAL[kind])
    given = {"tokenizer": tokenizer, "max_tokens": 40, "cache": cache, "forced": "off"}
    prompts = ["the cat", "a 100 year old"]
    for held in ({"schema": SCHEMA}, {"regex": "[a-z ]{3,9}"}):
        found = gl.generate(model, prompts, method="superposed", drafts=1, **given, **held)
        expected = gl.generate(model, prompts, **given, **held)
        assert [out.tokens for out in found] == [out.tokens for out in expected]


def test_several_drafts_cost_the_forwards_of_one(tokenizer):
    """Superposed: distinct, valid, and no more forwards than the longest has tokens and an end."""
    model, shapes = random_model("Llama", len(tokenizer)), []
    forward = model.forward

    @wraps(forward)
    def counted(**options):
        shapes.append(tuple(options["inputs_embeds"].shape[:2]))
        return forward(**options)

    model.forward = counted
    outs = gl.generate(
        model, "the cat", tokenizer=tokenizer, schema=SCHEMA, max_tokens=40, method="superposed", drafts=5, n=5
    )
    assert len({out.text for out in outs}) == 5
    assert [-out.score for out in outs] == sorted(-out.score for out in outs)
    assert len(shapes) <= max(len(out.tokens) for out in outs) + 1
    assert all(rows == 1 for rows, _ in shapes)
    assert all(width == 1 for _, width in shapes[1:])


def by_definition(model, prompt, texts, drafts, share, ngrams):
    """(cost, text) of each answer, over letters: one mixed row for all drafts, the best of each one's own continuations."""
    embed, kept = model.get_input_embeddings(), [(0.0, (), False)]
    read = [embed(torch.tensor([prompt]))]
    with torch.no_grad():
        while growing := [one for one in kept if not one[2]]:
            if growing[0][1]:
                shares = torch.tensor([-cost for cost, _, _ in growing]).double().softmax(0)
                rows = embed(torch.tensor([text[-1] for _, text, _ in growing])).double()
                read.append((shares @ rows).to(embed.weight.dtype)[None, None])
            log_p = model(inputs_embeds=torch.cat(read, 1)).logits[0, -1].double().log_softmax(-1).tolist()
            level = [one for one in kept if one[2]]
            for cost, text, _ in growing:
                begun = "".join("abcd"[token] for token in text)
                own = []
                for token in range(5):
                    more = begun if token == 4 else begun + "abcd"[token]
                    if (token == 4 and begun in texts) or (token < 4 and any(each.startswith(more) for each in texts)):
                        own.append((log_p[token], token))
                tokens = [token for token in sorted(range(4), key=lambda t: -log_p[t]) if (log_p[token], token) in own][
                    :drafts
                ]
                tokens += [4] if (log_p[4], 4) in own else []
                for token in tokens:
                    said = ngrams([*prompt, *text], [token])[0] if ngrams else 0.0
                    added = (1 - share) * log_p[token] + share * said
                    level.append((cost - added, text if token == 4 else (*text, token), token == 4))
            kept = sorted(level)[:drafts]
    return kept


@pytest.mark.parametrize("drafts", [1, 2, 3, 4])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_drafts_by_their_definition(drafts, share):
    model = random_model("Llama", 5)
    vocab = gl.Vocabulary([b"a", b"b", b"c", b"d", b""], stop_ids=[4])

    def ngrams(ids, tokens):
        return [-0.3 * ((sum(ids[-2:]) + 3 * token) % 5) - 0.1 for token in tokens]

    for prompt in ([0, 1], [2], [3, 0, 2]):
        expected = by_definition(model, prompt, TEXTS, drafts, share, ngrams if share else None)
        given = {"ngrams": ngrams, "alpha": share} if share else {}
        outs = gl.generate(
            model, [prompt], vocab=vocab, choices=TEXTS, method="superposed", drafts=drafts, n=len(expected), **given
        )
        assert [tuple(out.tokens) for out in outs] == [text for _, text, _ in expected]
        assert [-out.score for out in outs] == pytest.approx([cost for cost, *_ in expected], abs=1e-4)


def test_a_draft_outside_the_shared_best_lives(tokenizer):
    """Superposed: after "x" the grammar wants what the shared row finds least probable: the draft goes on by its own mask."""
    model = random_model("Llama", len(tokenizer))
    ids = {text: tokenizer(text)["input_ids"][0] for text in "abxyz"}
    with torch.no_grad():  # whatever was read, "a" is much more probable than what "x" goes on with
        model.lm_head.weight.zero_()
        model.model.norm.weight.zero_()
        model.lm_head.bias = torch.nn.Parameter(torch.zeros(len(tokenizer)).double())
        model.lm_head.bias[ids["a"]], model.lm_head.bias[ids["x"]] = 9.0, 8.0
        model.lm_head.bias[[ids["y"], ids["z"]]] = -9.0
    outs = gl.generate(model, "the", tokenizer=tokenizer, choices=["aaaa", "xyzy"], method="superposed", drafts=2, n=2)
    assert {out.text for out in outs} == {"aaaa", "xyzy"}
    assert all(np.isfinite(out.score) for out in outs)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"drafts": 0}, ValueError, "drafts=0; it takes an integer from 1 to"),
        ({"drafts": 2, "n": 3}, ValueError, "n=3 with drafts=2"),
        ({"alpha": 0.5}, ValueError, "alpha=0.5 without ngrams="),
        ({"alpha": 2, "ngrams": len}, ValueError, "alpha=2; it takes a number, from 0"),
        ({"ngrams": 5}, TypeError, "ngrams is 5; it takes a function"),
        ({"temperature": 1.0}, ValueError, 'temperature= with method="superposed"'),
        ({"top_k": 3}, ValueError, "top_k= with method='superposed'"),
        ({"stop": "a"}, ValueError, "method='superposed' takes no stop="),
    ],
    ids=["drafts", "n", "alpha", "share", "ngrams", "temperature", "top_k", "stop"],
)
def test_what_cannot_be_done_is_said(model, tokenizer, options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        gl.generate(model, "the", tokenizer=tokenizer, regex="[ab]{2}", method="superposed", **options)


def test_models_that_take_ids_alone():
    vocab = gl.Vocabulary([b"a", b""], stop_ids=[1])
    with pytest.raises(TypeError, match=re.escape('method="superposed" mixes embeddings, and function takes none')):
        gl.generate(lambda ids: torch.zeros(*ids.shape, 2), [0], vocab=vocab, regex="a", method="superposed")


def test_functions_that_fail(model, tokenizer):
    given = {"tokenizer": tokenizer, "regex": "[ab]{2}", "method": "superposed"}
    for ngrams, message in (
        (lambda ids, tokens: 1 / 0, "ngrams= raised ZeroDivisionError"),
        (lambda ids, tokens: [math.nan] * len(tokens), "ngrams= raised ValueError: it gave"),
        (lambda ids, tokens: [], "ngrams= raised ValueError: it gave 0 figures for"),
    ):
        out = gl.generate(model, "the", ngrams=ngrams, **given)
        assert (out.finish_reason, out.value) == ("error", None)
        assert message in out.error
