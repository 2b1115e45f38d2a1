"""generate(method=...) with a pool of one's own: judged by the draws that its paths are, and by counts of the test's own."""

import gc
import json
import math
import re
import weakref

import jsonschema
import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding import Moves, pool
from grammarlm.decoding.logits.sampling import Sampling, draw
from tests.counts import tiers
from tests.decoding.methods.two_models import (
    FIRST,
    PROMPTS,
    STOP,
    TEXTS,
    VOCAB,
    allowed_after,
    generate,
    log_softmax,
    row_after,
    wrong_after,
)
from tests.decoding.random_models import Forwards, random_model
from tests.rounding import LOG_P

LONG = {"choices": None, "regex": "[abcd]{3,9}", "max_tokens": 10}
DRAWN = {"temperature": 1.0, "seed": 4}
SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 99}, "tag": {"enum": ["red", "blue", 3]}},
    "required": ["age", "tag"],
    "additionalProperties": False,
}


def drawn(tokens, sample, prompt, seed):
    """The answer that goes on from these tokens with the random numbers of that sample, one draw after another."""
    tokens, sampling = list(tokens), Sampling(temperature=1.0, seed=seed).of_sample(sample)
    while True:
        allowed = allowed_after(TEXTS, tokens)
        row = np.where(allowed, row_after(FIRST, [*prompt, *tokens]), -np.inf).astype(np.float32)
        token, _ = draw(row, sampling, len(tokens))
        if token == STOP:
            return tokens
        tokens.append(token)


def all_of(function, **options):
    """The function as a pool, and the list that the answers of all its paths come into, in the order of their ends."""
    answers = []

    def choose(found):
        answers.extend(found)
        return found

    return pool(choose=choose, **options)(function), answers


def waits(paths):
    """All go on."""


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_k": 2, "temperature": 1.5},
        {"where": lambda text: "ad" not in text},
        {"forced": "off"},
        {"repetition_penalty": 1.3},
        {"close": False, **LONG, "max_tokens": 5},
        {"stop": "cc", **LONG},
        {"choices": None, "max_tokens": 6},
    ],
    ids=["texts", "filters", "predicate", "forced off", "penalty", "cut", "stop", "free"],
)
def test_paths_are_masked_draws(options):
    for seed in range(4):
        given = {"temperature": 1.0, "seed": seed, **options}
        draws = np.array(generate("masked", n=5, batch_size=99, **given), dtype=object).reshape(len(PROMPTS), 5)
        method, answers = all_of(waits)
        found = generate(method, candidates=5, **given)
        for number, own in enumerate(draws):
            paths = answers[5 * number : 5 * number + 5]
            for name in ("tokens", "logprobs", "model_logprobs", "finish_reason", "value", "stopped_by"):
                assert sorted(repr(getattr(one, name)) for one in paths) == sorted(
                    repr(getattr(one, name)) for one in own
                )
            assert found[number].tokens == paths[0].tokens


@tiers("seeds", 5, 100)
def test_forks_are_samples_of_their_own(seeds):
    """Each goes on from the tokens that it begins with, by the draws of the sample of its number; nothing else changes."""
    met = 0
    for seed in range(seeds):
        for prompt in PROMPTS:
            noise, begins = np.random.default_rng(seed), {0: [], 1: []}

            def forking(paths, noise=noise, begins=begins):
                assert all(path.tokens[: len(begins[path.number])] == begins[path.number] for path in paths)
                if len(paths) > 5 or noise.random() < 0.3:
                    return Moves()
                chosen = [paths.running[at] for at in noise.integers(len(paths.running), size=2)]
                begins.update((number, list(path.tokens)) for number, path in enumerate(chosen, len(paths)))
                return Moves(fork=chosen)

            method, answers = all_of(forking, candidates=2)
            generate(method, [prompt], temperature=1.0, seed=seed, forced="off")
            expected = [drawn(tokens, sample, prompt, seed) for sample, tokens in begins.items()]
            assert sorted(one.tokens for one in answers) == sorted(expected)
            met += len(begins) - 2
    assert met > seeds


def test_paths_say_what_they_were_drawn_from():
    seen = []

    @pool(candidates=3, logits=True)
    def watching(paths):
        for path in paths:
            path.memory["calls"] = path.memory.get("calls", 0) + 1
            seen.append((list(path.tokens), list(path.entropies), path.logits.copy(), path.text, path.memory["calls"]))

    generate(watching, [[2]], model=FIRST, **DRAWN)
    for tokens, entropies, logits, text, _ in seen:
        assert text == b"".join(map(VOCAB.token_bytes, tokens)).decode()
        assert logits == pytest.approx(row_after(FIRST, [2, *tokens[:-1]]), abs=1e-5)
        for at, entropy in enumerate(entropies):
            allowed = allowed_after(TEXTS, tokens[:at])
            row = log_softmax(np.where(allowed, row_after(FIRST, [2, *tokens[:at]]), -np.inf))[allowed]
            assert entropy == pytest.approx(-(np.exp(row) * row).sum(), abs=1e-5)
    assert max(calls for *_, calls in seen) > 1
    assert {len(entropies) == len(tokens) for tokens, entropies, *_ in seen} == {True}


def at_random(noise):
    """A function that forks, drops, or neither."""

    def random(paths):
        running = list(paths.running)
        noise.shuffle(running)
        drop = running[: int(noise.integers(len(running)))] if noise.random() < 0.3 else []
        left = [path for path in running if path not in drop]
        return Moves(fork=left[:1] * int(noise.integers(3)), drop=drop)

    return random


@tiers("seeds", 12, 400)
def test_no_function_writes_more_than_its_budget(seeds):
    """The tokens are counted as rows of forwards, each of which draws one, or the end."""
    for seed in range(seeds):
        noise, rows = np.random.default_rng(seed), []

        def counting(ids, rows=rows):
            rows.append(len(ids))
            return FIRST(ids)

        method, answers = all_of(at_random(noise), candidates=3)
        budget = int(noise.integers(10, 40))
        given = {**LONG, **DRAWN, "seed": seed, "forced": "off", "budget": budget}
        out = generate(method, [[2]], counting, **given)[0]
        drawn = min(3, budget - 9) + sum(rows[1:])
        written = out.stats.log[-1]["tokens"]
        assert drawn - len(answers) <= written <= min(drawn, budget)
        assert out.stats.log[-1]["paths"] >= len(answers) > 0
        assert out.finish_reason in ("stop", "closed")


@tiers("seeds", 4, 200)
def test_forced_tokens_count_too(seeds, tokenizer, model):
    for seed in range(seeds):
        noise = np.random.default_rng(seed)
        method, answers = all_of(at_random(noise), candidates=3)
        budget = int(noise.integers(40, 120))
        given = {"tokenizer": tokenizer, "schema": SCHEMA, "max_tokens": 40, "temperature": 1.0, "seed": seed}
        out = gl.generate(model, "the cat", method=method, budget=budget, **given)
        jsonschema.validate(json.loads(out.text), SCHEMA)
        assert max(len(one.tokens) for one in answers) <= out.stats.log[-1]["tokens"] <= budget
        assert sum(one.stats.forced_tokens for one in answers) > 0


def test_what_is_counted_is_what_was_written():
    """Without drops: the tokens of all paths, those that forks share once."""
    for seed in range(6):
        begins = {}

        def forking(paths, begins=begins):
            if len(paths) < 6:
                chosen = paths.running[:2]
                begins.update((number, len(path.tokens)) for number, path in enumerate(chosen, len(paths)))
                return Moves(fork=chosen)
            return None

        method, answers = all_of(forking, candidates=2)
        generate(method, [[0, 1]], forced="off", **{**LONG, **DRAWN, "seed": seed})
        written = sum(len(one.tokens) for one in answers) - sum(begins.values())
        assert {one.stats.log[-1]["tokens"] for one in answers} == {written}


def test_of_dropped_paths_nothing_is_kept(tokenizer):
    """No row in a forward or in the cache, no matcher; the n answers of other prompts go on."""
    model, kept, counts = random_model("Llama", len(tokenizer)), [], []
    watched = Forwards(model)

    @pool(candidates=6)
    def narrowing(paths):
        if not kept:
            rows = [one for one in gc.get_objects() if type(one).__name__ == "Row" and one.number]
            kept.extend(weakref.ref(row) for row in rows if row.number < 6)
            kept.extend(weakref.ref(row.grammar) for row in rows if row.number < 6)
            assert len(kept) == 10
            return Moves(drop=[path for path in paths if path.number])
        gc.collect()
        counts.append(sum(one() is not None for one in kept))
        return None

    options = {"tokenizer": tokenizer, "regex": "[a-z ]{9,20}", "max_tokens": 25, "temperature": 1.0, "seed": 6}
    gl.generate(model, "the cat", method=narrowing, **options)
    assert [rows for rows, _ in watched.shapes[:3]] == [1, 1, 1]
    assert set(counts) == {0}


def test_prompts_of_a_batch_have_pools_of_their_own():
    @pool(candidates=3)
    def first_two(paths):
        return Moves(
            drop=[path for path in paths.running if path.number == 2], fork=paths.running[:1] * (len(paths) < 6)
        )

    together = generate(first_two, n=2, **DRAWN)
    for number, prompt in enumerate(PROMPTS):
        alone = generate(first_two, [prompt], n=2, **DRAWN)
        assert [one.tokens for one in together[2 * number : 2 * number + 2]] == [one.tokens for one in alone]


def test_a_pool_that_stops():
    @pool(candidates=4)
    def at_the_first_end(paths):
        return Moves(stop=any(path.is_over for path in paths))

    for seed in range(6):
        out = generate(at_the_first_end, [[2]], **{**LONG, **DRAWN, "seed": seed})[0]
        first = generate("first_finish", [[2]], candidates=4, **{**LONG, **DRAWN, "seed": seed})[0]
        assert (out.tokens, out.finish_reason) == (first.tokens, first.finish_reason)


def test_a_failing_row_is_a_path_that_has_failed():
    """Its prompt's other paths go on; where all fail it is the answer."""
    bad, good = generate(pool(waits), [[2], [3]], model=wrong_after(math.nan, [0, 1]), **LONG, **DRAWN)
    assert (bad.finish_reason, good.finish_reason) == ("error", "closed" if good.finish_reason == "closed" else "stop")
    assert "no distribution" in bad.error


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda paths: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda paths: [], "it returned []; it returns None, or Moves of paths that are not over"),
        (lambda paths: Moves(fork=["a"]), "it returned Moves(fork=['a']"),
        (lambda paths: Moves(drop=7), "'int' object is not iterable"),
        (lambda paths: Moves(drop=paths.running), "it dropped all paths before one was over"),
        (lambda paths: Moves(stop=True), "it dropped all paths before one was over"),
        (lambda paths: Moves(fork=paths[:1], drop=paths[:1]), "it forks and drops <Path 0: "),
        (lambda paths: Moves(fork=paths[:1] * 2000), "it forks 2000 of 2 paths; at most 1024 run at once"),
    ],
    ids=["raises", "a list", "no paths", "no list", "drops all", "stops", "both", "too many"],
)
def test_what_a_function_does_wrong_is_said_by_its_name(function, message):
    function.__name__ = "wrong"
    outs = generate(pool(candidates=2)(function), n=2, **LONG, **DRAWN)
    for out in outs:
        assert (out.finish_reason, out.value) == ("error", None)
        assert out.error.startswith("the pool wrong raised ")
        assert message in out.error
        assert len(out.error) <= 500


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"candidates": 0}, ValueError, "candidates=0; it takes an integer from 1 to"),
        ({"candidates": 2, "n": 3}, ValueError, "n=3 with candidates=2"),
        ({"budget": 9}, ValueError, "budget=9 is less than one path may need, max_tokens=10"),
        ({"budget": 0}, ValueError, "budget=0; it takes an integer of 1 or more"),
        ({"budget": "many"}, TypeError, "budget is 'many'; it takes an integer"),
        ({"draft": "copy"}, ValueError, "method=<pool waits> takes no draft"),
        ({"widht": 3}, TypeError, "generate() has no argument widht="),
    ],
    ids=["none", "too few", "budget", "no budget", "text", "draft", "unknown"],
)
def test_what_cannot_be_done_is_said(options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate(pool(waits), **{**LONG, **options})


def test_decorators_and_choices_that_are_wrong():
    with pytest.raises(TypeError, match=re.escape("@pool got int; it takes a function of paths")):
        pool(5)
    with pytest.raises(ValueError, match="candidates=0"):
        pool(candidates=0)
    for choose, message in ((lambda found: [], "it returned []"), (lambda found: 1 / 0, "ZeroDivisionError")):
        out = generate(pool(choose=choose)(waits), [[2]], **DRAWN)[0]
        assert (out.finish_reason, out.value) == ("error", None)
        assert out.error.startswith("choose= of the pool waits raised")
        assert message in out.error
    with pytest.raises(ValueError, match=re.escape("it takes 'masked'")):
        gl.stream(FIRST, [0], vocab=VOCAB, method=pool(waits))


def test_every_cache_and_length(model, tokenizer):
    """Forks and drops in caches of unequal texts: the answers are those without a cache."""

    @pool(candidates=3)
    def both(paths):
        longest = max(len(path.tokens) for path in paths)
        return Moves(fork=paths.running[:1] if longest == 2 else [], drop=paths.running[2:3] if longest == 4 else [])

    options = {"tokenizer": tokenizer, "regex": "[a-z ]{3,9}", "max_tokens": 12, "temperature": 1.0, "seed": 4, "n": 2}
    prompts = ["the cat", "a 100 year old"]
    cached, read_again = (
        gl.generate(model, prompts, method=both, cache=cache, **options) for cache in ("dynamic", "off")
    )
    for one, two in zip(cached, read_again, strict=True):
        assert one.tokens == two.tokens
        assert one.model_logprobs == pytest.approx(two.model_logprobs, rel=0, abs=LOG_P)


def test_a_predicate_that_raises_ends_its_path_alone():
    def told(text):
        return 1 / (not text.startswith("b"))

    method, answers = all_of(waits)
    given = {"where": told, "model": lambda ids: torch.zeros(*ids.shape, 5), "candidates": 9, **DRAWN}
    generate(method, [[0]], **given)
    [out] = generate(pool(waits), [[0]], **given)
    assert out.error is None
    assert {one.finish_reason for one in answers} == {"error", "stop"}
