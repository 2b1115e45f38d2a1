"""@blend(masked=True): the rows that arrive, what is done with those that come back, and what an answer remembers."""

import itertools
import math
import re

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding import blend, search
from tests.decoding.methods.two_models import (
    FIRST,
    OTHER,
    PROMPTS,
    SCHEMA,
    STOP,
    TEXTS,
    VOCAB,
    WIDTH,
    allowed_after,
    generate,
    row_after,
    same,
    wrong_after,
)
from tests.decoding.random_models import random_model

DRAWN = {"temperature": 1.0, "seed": 4}


def neutral(*others):
    return blend(*others, masked=True)(lambda rows, first, *rest: first)


@pytest.mark.parametrize("options", [{}, {"n": 3, **DRAWN}, {"forced": "off", **DRAWN}], ids=str)
def test_all_rows_arrive_masked(options):
    """Each row is the model's own after the prompt and the answer so far, -inf where no text of the list goes on."""
    seen = []

    @blend(OTHER, (OTHER, [3, 3]), masked=True)
    def looking(rows, *logits):
        for at, row in enumerate(rows):
            seen.append((row.memory["prompt"], tuple(row.tokens), [one[at].double().numpy() for one in logits]))
        return logits[0]

    looking.begin = lambda request: [{"prompt": request.first + at} for at in range(len(request.prompts))]
    answers = generate(looking, batch_size=2 * options.get("n", 1), **options)
    for number, tokens, found in seen:
        allowed = allowed_after(TEXTS, tokens)
        sources = [(FIRST, PROMPTS[number]), (OTHER, PROMPTS[number]), (OTHER, [3, 3])]
        for (model, prompt), row in zip(sources, found, strict=True):
            expected = np.where(allowed, row_after(model, [*prompt, *tokens]), -math.inf)
            np.testing.assert_allclose(row, expected, rtol=0, atol=1e-6)
    begun = {(at // options.get("n", 1), tuple(one.tokens[:n])) for at, one in enumerate(answers) for n in range(5)}
    assert {(number, tokens) for number, tokens, _ in seen} <= begun
    assert len({number for number, _, _ in seen}) == len(PROMPTS)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n": 3, **DRAWN},
        {"batch_size": 1, **DRAWN},
        {"forced": "off"},
        {"choices": None, "max_tokens": 6, **DRAWN},
        {"where": lambda text: "ba" not in text, **DRAWN},
        {"repetition_penalty": 1.4, "top_k": 2, **DRAWN},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
@pytest.mark.parametrize("others", [(), (OTHER,)], ids=len)
def test_a_neutral_one_is_masked(others, options):
    for found, expected in zip(generate(neutral(*others), **options), generate("masked", **options), strict=True):
        same(found, expected)


@pytest.mark.parametrize("options", [{"schema": SCHEMA}, {"regex": "[a-z ]{3,9}", "heal": True}], ids=str)
@pytest.mark.parametrize("cache", ["dynamic", "off"])
def test_a_neutral_one_is_masked_on_a_transformer(model, tokenizer, options, cache):
    given = {"tokenizer": tokenizer, "max_tokens": 40, "n": 2, "temperature": 0.9, "seed": 2, "cache": cache, **options}
    prompts = ["the cat", "a 100 year old"]
    method = neutral(random_model("Llama", len(tokenizer)))
    found = gl.generate(model, prompts, method=method, **given)
    for one, two in zip(found, gl.generate(model, prompts, **given), strict=True):
        same(one, two)
    *events, last = gl.stream(model, prompts, method=method, **given)
    assert [one.tokens for one in last.result] == [one.tokens for one in found]
    for row, one in enumerate(found):
        assert "".join(event.text for event in events if event.row == row) == one.text


def test_forced_drafts_are_read_and_remembered_in_order():
    """Answers of the embedded model draft what a schema forces; a draft that is not drawn leaves no trace in the memory."""
    tiny, tokenizer = gl.load_tiny()
    prompt = "Ada Lovelace is 36 and lives in London.\nAs JSON: "
    asked = []

    @blend((tiny, "As JSON: "), masked=True)
    def mixed(rows, own, other):
        for row in rows:
            row.memory["asked"] = (*row.memory.get("asked", ()), len(row.tokens))
            asked.append((row.memory["asked"], list(row.tokens)))
        return 0.7 * own + 0.3 * other

    answers = {}
    for forced in ("score", "off"):
        asked.clear()
        options = {"tokenizer": tokenizer, "schema": SCHEMA, "max_tokens": 40, "forced": forced, **DRAWN}
        answers[forced] = out = gl.generate(tiny, prompt, method=mixed, **options)
        lengths = [len(tokens) for _, tokens in asked]
        assert lengths == sorted(set(lengths))  # each place is asked about once, and none is gone back to
        assert all(tokens == out.tokens[: len(tokens)] for _, tokens in asked)
        assert asked[-1][0] == tuple(lengths)
    assert answers["score"].tokens == answers["off"].tokens
    assert answers["score"].stats.accepted_tokens > 0
    options |= {"forced": "score"}
    alone, beside = (gl.generate(tiny, prompt, method=method, **options) for method in ("masked", neutral(tiny)))
    same(beside, alone)
    assert beside.stats.forwards == alone.stats.forwards < len(alone.tokens)


def test_the_answers_to_a_prompt_have_memories_of_their_own():
    memories = {}

    @blend(masked=True)
    def counting(rows, logits):
        for row in rows:
            row.memory["path"] = (*row.memory.get("path", ()), tuple(row.tokens))
            memories[id(row.memory)] = row.memory
        return logits

    answers = generate(counting, n=6, batch_size=18, choices=None, regex="[abcd]{3}", **DRAWN)
    paths = [one["path"] for one in memories.values()]
    assert len(paths) == len(answers)
    for path in paths:
        assert all(before == after[: len(before)] for before, after in itertools.pairwise(path))
        assert any(tuple(out.tokens[: len(path[-1])]) == path[-1] for out in answers)
    assert len(set(paths)) > len(PROMPTS)


def test_the_allowed_set_wins():
    """Where nothing is left the first model's masked row is drawn from, and what was forbidden never comes back."""
    nothing = blend(masked=True)(lambda rows, logits: torch.full_like(logits, -math.inf))
    for found, expected in zip(generate(nothing, n=2, **DRAWN), generate("masked", n=2, **DRAWN), strict=True):
        same(found, expected)
    lifted = blend(masked=True)(lambda rows, logits: torch.where(logits == -math.inf, 50.0, logits))
    for found, expected in zip(generate(lifted, **DRAWN), generate("masked", **DRAWN), strict=True):
        same(found, expected)
    flat = blend(masked=True)(lambda rows, logits: torch.zeros_like(logits))
    assert {out.value for out in generate(flat, n=60, **DRAWN)} <= set(TEXTS)


def test_what_the_first_model_excludes_may_be_drawn():
    """The log-probability is the blend's, that of the model is its own: -inf."""

    def without_a(ids):
        return torch.where(torch.arange(WIDTH) == 0, -math.inf, FIRST(ids))

    other = blend(OTHER, masked=True)(lambda rows, one, two: two)
    out = generate(other, [2], without_a, choices=["a", "b"], temperature=1.0, seed=1, n=20)
    assert {one.text for one in out} == {"a", "b"}
    for one in out:
        exact = row_after(OTHER, [2])
        chance = exact["ab".index(one.text)] - np.logaddexp(exact[0], exact[1])
        assert one.logprobs[0] == pytest.approx(chance, abs=1e-5)
        assert (one.model_logprobs[0] == -math.inf) == (one.text == "a")


def spoiling(value):
    """A blend that makes this of the allowed tokens of answers to the prompt [2]."""

    def function(rows, logits):
        for row, own in zip(rows, logits, strict=True):
            if row.memory["is_bad"]:
                own[own > -math.inf] = value
        return logits

    return blend(masked=True, begin=lambda request: [{"is_bad": ids == [2]} for ids in request.prompts])(function)


@pytest.mark.parametrize("forced", ["score", "off"])
@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            neutral(wrong_after(math.nan, [1])),
            "model 2 of <blend <lambda>>: ValueError: after 1 tokens the model's logits",
        ),
        (neutral(wrong_after(-math.inf, range(4))), "each token that the grammar allows has the logit -inf"),
        (
            spoiling(math.nan),
            "the blend function made nan of the logits of id 0 (and of 1 more); it makes finite numbers",
        ),
        (
            spoiling(math.inf),
            "the blend function made inf of the logits of id 0 (and of 1 more); it makes finite numbers",
        ),
    ],
    ids=["NaN", "-inf", "makes NaN", "makes inf"],
)
def test_a_row_fails_alone(method, message, forced):
    options = {"choices": ["aaaa", "abab", "abba", "bbaa", "baba"], "n": 2, "forced": forced, **DRAWN}
    outs = generate(method, [[0], [2], [3]], **options)
    others = generate(method, [[0], [3]], **options)
    for found, expected in zip([*outs[:2], *outs[4:]], others, strict=True):
        same(found, expected)
        assert found.finish_reason == "stop"
    for out in outs[2:4]:
        assert (out.finish_reason, out.value) == ("error", None)
        assert message in out.error
        assert len(out.error) <= 500


# ------------------------------------------------------------------ models and prompts as options


@blend("beside", masked=True)
def halved(rows, own, beside, *, share=0.5):
    return (1 - share) * own + share * beside


def halves(model, prompt, other, other_prompt):
    """The tokens of the greedy answer, by forwards of whole texts."""
    tokens = []
    while True:
        row = row_after(model, [*prompt, *tokens]) + row_after(other, [*other_prompt, *tokens])
        token = int(np.where(allowed_after(TEXTS, tokens), row, -math.inf).argmax())
        if token == STOP:
            return tokens
        tokens.append(token)


@pytest.mark.parametrize("batch_size", [1, 2, 8])
@pytest.mark.parametrize(
    ("beside", "of"),
    [
        (OTHER, [(OTHER, prompt) for prompt in PROMPTS]),
        ([3, 1], [(FIRST, [3, 1])] * 3),
        ([[1], [3, 1], [0, 0, 2]], [(FIRST, [1]), (FIRST, [3, 1]), (FIRST, [0, 0, 2])]),
        ((OTHER, [3, 1]), [(OTHER, [3, 1])] * 3),
        ((OTHER, [[1], [3, 1], [0, 0, 2]]), [(OTHER, [1]), (OTHER, [3, 1]), (OTHER, [0, 0, 2])]),
    ],
    ids=["a model", "a prompt", "a prompt for each", "both", "a model and a prompt for each"],
)
def test_models_and_prompts_are_options(beside, of, batch_size):
    found = generate(halved, beside=beside, batch_size=batch_size)
    assert [one.tokens for one in found] == [
        halves(FIRST, prompt, *each) for prompt, each in zip(PROMPTS, of, strict=True)
    ]
    assert [event.result for event in gl.stream(FIRST, PROMPTS, vocab=VOCAB, choices=TEXTS, method=halved, beside=beside)][
        -1
    ][0].tokens == found[0].tokens  # fmt: skip


def test_a_text_is_a_prompt(model, tokenizer):
    given = {"tokenizer": tokenizer, "regex": "[a-z ]{3,9}", "method": halved}
    found = gl.generate(model, "the cat", beside="a hat sat", **given)
    assert found.tokens == gl.generate(model, "the cat", beside=tokenizer("a hat sat")["input_ids"], **given).tokens
    each = gl.generate(model, ["the cat", "the"], beside=["a hat sat", "in a 100"], **given)
    assert each[0].tokens == found.tokens
    assert each[1].tokens == gl.generate(model, "the", beside="in a 100", **given).tokens


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({}, TypeError, "the method halved needs the argument beside=: a model whose ids mean the same, a prompt, or"),
        ({"beside": None}, TypeError, "beside= is None; it takes a model"),
        ({"beside": 5}, TypeError, "beside= is int: 5; it takes one text"),
        ({"beside": [[1], [2]]}, ValueError, "beside= is a list of 2 prompts, but there are 3; give one for each"),
        ({"beside": [OTHER, OTHER, OTHER]}, TypeError, "beside= is a list that holds models; it takes one model for all prompts"),
        ({"beside": []}, ValueError, "beside= is a list of 0 prompts, but there are 3"),
        ({"beside": [[1], [], [2]]}, ValueError, "prompt 1 of beside= has no ids"),
        ({"beside": torch.nn.Linear}, TypeError, "model is the class Linear"),
        ({"beside": OTHER, "shar": 1}, TypeError, "generate() has no argument shar=; did you mean share=?"),
        ({"besid": OTHER}, TypeError, "generate() has no argument besid=; did you mean beside=?"),
    ],
)  # fmt: skip
def test_options_that_say_nothing_are_refused(options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate(halved, **options)


def test_other_refusals(model, tokenizer):
    with pytest.raises(TypeError, match=re.escape("beside= is a list of 2 prompts, but there is one prompt; pass one")):
        generate(halved, [0, 1], beside=[[1], [2]])
    with pytest.raises(ValueError, match="heal=True takes tokens of the prompt back, and beside= reads another prompt"):
        gl.generate(model, "the ca", tokenizer=tokenizer, regex="[a-z ]{3}", heal=True, method=halved, beside="a")
    wide = random_model("Llama", 2000)
    with pytest.raises(ValueError, match="beside=: its model's logits are 2,000 wide, and the vocabulary has 29"):
        gl.generate(model, "the ca", tokenizer=tokenizer, regex="[a-z ]{3}", method=halved, beside=wide)


@pytest.mark.parametrize("draft", ["copy", OTHER], ids=["a name", "a model"])
def test_drafts_are_refused_by_name(draft):
    """They were ignored without a word."""
    plain = blend()(lambda logits: logits)
    followed = search(lambda tree, n: [tree.root])
    for method, name in ((plain, "<blend <lambda>>"), (halved, "<blend halved>"), (followed, "<search <lambda>>")):
        options = {"beside": OTHER} if method is halved else {}
        with pytest.raises(ValueError, match=re.escape(f"method={name} takes no draft; 'masked' and 'best_of' do")):
            generate(method, draft=draft, **options)
    with pytest.raises(ValueError, match=re.escape("method='contrast' takes no draft")):
        generate("contrast", draft=draft, against=OTHER)
