"""EQ: with a draft the answers are token for token those without one, over grammars, samplings, trees and batches."""

import random

import pytest

import grammarlm as gl
from tests.decoding.speculative.draft_models import GRAMMARS, VOCAB, prompts
from tests.rounding import LOG_P

FACTORS = {
    "grammar": ("none", "schema", "regex", "sql"),
    "sampling": ({}, {"temperature": 1.0, "seed": 11}, {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "seed": 12}),
    "tree": gl.Draft.TREES,
    "batch": (1, 3),
    "extra": ({}, {"n": 2}, {"where": lambda text: "7" not in text}, {"repetition_penalty": 1.3}),
}


def same_answers(model, make_draft, count=6, trees=gl.Draft.TREES, seed=0, asked=prompts, **options):
    """Raises where a draft changes an answer; how many tokens were drafted, and how many of them accepted."""
    rng = random.Random(seed)
    decks = {name: [] for name in FACTORS}
    drafted = accepted = 0
    for number in range(count):
        chosen = {}
        for name, values in {**FACTORS, "tree": trees}.items():
            decks[name] = decks[name] or rng.sample(range(len(values)), len(values))
            chosen[name] = values[decks[name].pop()]
        arguments = {"vocab": VOCAB, "max_tokens": 30, **options, **chosen["sampling"], **chosen["extra"]}
        arguments["grammar"] = GRAMMARS[chosen["grammar"]]
        texts = asked(chosen["batch"], seed + number)
        plain = gl.generate(model, texts, **arguments)
        with_draft = gl.generate(model, texts, draft=make_draft(chosen["tree"]), **arguments)
        for one, other in zip(plain, with_draft, strict=True):
            assert one.tokens == other.tokens, chosen
            assert one.finish_reason == other.finish_reason, chosen
            assert one.logprobs == pytest.approx(other.logprobs, rel=0, abs=LOG_P), chosen
            drafted += other.stats.draft_tokens
            accepted += other.stats.accepted_tokens
    return drafted, accepted


def written(model, prompt, count, **options):
    """What a transformers model writes, and its last hidden states there, by one stock forward."""
    import torch

    out = gl.generate(model, prompt, vocab=VOCAB, max_tokens=count, close=False, **options)
    with torch.no_grad():
        states = model.base_model(torch.tensor([[*prompt, *out.tokens]])).last_hidden_state[0]
    return out.tokens, states
