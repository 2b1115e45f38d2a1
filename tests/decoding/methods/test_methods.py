"""generate(method=...) on a model of three tokens whose languages can be listed, and on a random transformer."""

import itertools
import math
import re
from functools import reduce

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.readers.cached import static_caches_are_right
from grammarlm.decoding.request import prepare
from grammarlm.decoding.settings import Settings
from grammarlm.decoding.tree.branches import Branches
from grammarlm.decoding.tree.text_node import TextNode
from tests.decoding.left_to_right import LEFT_TO_RIGHT, needed
from tests.decoding.toy_language import LANGUAGES, LONGEST, STOP, next_token
from tests.rounding import LOG_P

VOCAB = gl.Vocabulary([b"a", b"b", b"</s>", b"<s>"], stop_ids=[2], special_ids=[2, 3])
PROMPT = [3]
DEAD_END = LANGUAGES["a dead end"]


def named(value):
    """The same in every process: a function's own text has its address."""
    return re.sub(r"<function (\S+) at \w+>", r"\1", str(value))


def spelled(text):
    return "".join("ab"[token] for token in text)


def toy_model(ids):
    rows = [[[*next_token(tuple(row[1 : end + 1])[:LONGEST]), 0.0] for end in range(len(row))] for row in ids.tolist()]
    return torch.log(torch.tensor(rows, dtype=torch.float32))


def generate(model=toy_model, prompt=PROMPT, **arguments):
    return gl.generate(model, prompt, **{"vocab": VOCAB, "max_tokens": 6, **arguments})


def exact(language):
    law = {spelled(text): p for text, p in language.law().items()}
    return law, sum(law.values())


CONSTRAINTS = {
    "grammar": {"choices": [spelled(text) for text in DEAD_END.members]},
    "predicate": {
        "where": lambda text: any(spelled(member).startswith(text) for member in DEAD_END.members),
        "regex": "[ab]*",
    },
}


# ------------------------------------------------------------------ awrs, smc


@pytest.mark.parametrize(
    "options", [{}, {"threshold": 1.0}, {"critic": lambda texts: [t.count("b") for t in texts]}], ids=named
)
def test_smc_comes_to_the_law_of_the_model_given_the_grammar(options):
    law, evidence = exact(DEAD_END)
    runs = [
        generate(
            method="smc", particles=400, temperature=1.0, seed=seed, **options, **CONSTRAINTS["grammar"]
        ).population
        for seed in range(4)
    ]
    for text, p in law.items():
        found = np.mean([dict(zip(run.texts, run.weights, strict=True)).get(text, 0.0) for run in runs])
        assert found == pytest.approx(p / evidence, abs=0.04)
    assert np.mean([math.exp(run.log_evidence) for run in runs]) == pytest.approx(evidence, rel=0.06)
    assert all(
        sum(run.weights) == pytest.approx(1) and run.weights == sorted(run.weights, reverse=True) for run in runs
    )
    assert all(len(run.ess) == LONGEST + 1 and max(run.ess) <= 400 + 1e-6 for run in runs)


WHERE_PREFIX = {"where": CONSTRAINTS["predicate"]["where"]}


@pytest.mark.parametrize("options", [{}, {"extra": 1}, {"batch": 2}], ids=str)
def test_awrs_weighs_what_a_predicate_takes(options):
    """The predicate knows beginnings only, so each that it accepts may end: those texts are the language."""
    prefixes = {spelled(text) for text in DEAD_END.prefixes}
    results = generate(method="awrs", n=1500, temperature=1.0, seed=5, **WHERE_PREFIX, **options)
    for text in prefixes:
        tokens = ["ab".index(c) for c in text]
        p = math.prod(next_token(tuple(tokens[:n]))[t] for n, t in enumerate([*tokens, STOP]))
        weights = np.array([math.exp(one.log_weight) if one.text == text else 0.0 for one in results])
        assert weights.mean() == pytest.approx(p, abs=5 * weights.std() / math.sqrt(len(results)) + 1e-9)
    assert {one.text for one in results} <= prefixes


def test_under_a_grammar_awrs_draws_the_masked_tokens_and_knows_the_mass():
    options = {"temperature": 0.8, "seed": 7, "n": 12, **CONSTRAINTS["grammar"]}
    for masked, weighted in zip(generate(**options), generate(method="awrs", **options), strict=True):
        assert weighted.tokens == masked.tokens
        assert weighted.logprobs == pytest.approx(masked.logprobs, abs=1e-5)
        assert weighted.model_logprobs == pytest.approx(masked.model_logprobs, abs=1e-5)
        assert weighted.stats.mass_removed == pytest.approx(masked.stats.mass_removed, abs=1e-5)
        assert (weighted.finish_reason, weighted.value) == (masked.finish_reason, masked.value)
    plain = generate(method="awrs", temperature=1.0, seed=2, **CONSTRAINTS["grammar"])
    left = sum(math.log(1 - gone) for gone in plain.stats.mass_removed)
    stop = math.log(next_token(tuple(plain.tokens))[STOP])
    assert plain.text != "b"  # which can go on, so that the mask of its end leaves more than the stop
    assert plain.log_weight == pytest.approx(left + stop, abs=1e-5)


def test_at_temperature_0_nothing_is_drawn():
    for given in CONSTRAINTS.values():
        assert generate(method="awrs", **given).tokens == generate(**given).tokens
        assert generate(method="awrs", **given).log_weight is None
    first, second = (generate(method="smc", particles=200, n=2, **CONSTRAINTS["grammar"]) for _ in range(2))
    law, _ = exact(DEAD_END)
    assert [one.text for one in first] == sorted(law, key=law.get, reverse=True)[:2]
    assert [one.text for one in first] == [one.text for one in second]


def test_a_predicate_is_asked_once_about_each_text_and_in_batches():
    calls = []

    class Many:
        def __call__(self, text):
            raise AssertionError("many texts are asked about at once")

        def many(self, texts):
            calls.append(texts)
            return [CONSTRAINTS["predicate"]["where"](text) for text in texts]

    generate(method="smc", particles=30, temperature=1.0, seed=1, regex="[ab]*", where=Many())
    assert max(map(len, calls)) > 1
    texts = [text for call in calls for text in call]
    assert len(texts) == len(set(texts))


def test_a_predicate_that_accepts_nothing():
    dead = generate(method="awrs", temperature=1.0, seed=3, regex="[ab]+", where=lambda text: len(text) < 2, n=8)
    for one in dead:
        if one.log_weight == -math.inf:
            assert (one.value, one.finish_reason) == (None, "unsatisfied")
        else:
            assert one.value in ("a", "b")
    assert len({one.log_weight > -math.inf for one in dead}) == 1  # a stop is accepted, so no text dies
    dead = generate(method="smc", particles=4, regex="[ab]{2,3}", where=lambda text: len(text) < 2)
    assert (dead.value, dead.finish_reason, dead.population) == (None, "unsatisfied", None)
    gone = generate(method="awrs", temperature=1.0, seed=3, regex="[ab]{2,3}", where=lambda text: len(text) < 2)
    assert (gone.log_weight, gone.value, gone.finish_reason) == (-math.inf, None, "unsatisfied")


# ------------------------------------------------------------------ beam, best_of


def plain_beam(allows, beams):
    """The definition: all extensions of what is kept, sorted."""
    kept = [(0.0, (), False)]
    while not all(over for *_, over in kept):
        level = [one for one in kept if one[2]]
        for cost, text, _ in (one for one in kept if not one[2]):
            for token, p in enumerate(next_token(text)):
                if p and allows(text, token):
                    is_over = token == STOP
                    level.append((cost - math.log(p), text if is_over else (*text, token), is_over))
        kept = sorted(level)[:beams]
    return kept


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("has_predicate", [False, True])
def test_beam_is_a_plain_beam(language, has_predicate):
    language = LANGUAGES[language]

    def where(text):
        return text.count("b") < 2

    def allows(text, token):
        return language.allows(text, token) and (
            not has_predicate or where(spelled((*text, token)[: len(text) + (token != STOP)]))
        )

    given = {"choices": [spelled(text) for text in language.members], "where": where if has_predicate else None}
    for beams in range(1, 9):
        expected = plain_beam(allows, beams)
        if not expected:  # the predicate takes what the grammar leaves
            dead = generate(method="beam", beams=beams, **given)
            assert (dead.finish_reason, dead.value, where(dead.text)) == ("unsatisfied", None, True)
            continue
        found = (
            [generate(method="beam", beams=beams, **given)]
            if len(expected) == 1
            else generate(method="beam", beams=beams, n=len(expected), **given)
        )
        assert [one.text for one in found] == [spelled(text) for _, text, _ in expected]
        assert [one.score for one in found] == pytest.approx([-cost for cost, *_ in expected], abs=1e-5)


def test_beam_without_a_cut_is_exhaustive_search():
    rng = np.random.default_rng(4)
    texts = [text for n in range(1, 4) for text in itertools.product("ab", repeat=n)]
    for _ in range(10):
        table = {}

        def model(ids, table=table):
            rows = []
            for row in ids.tolist():
                beginnings = [tuple(row[1 : end + 1]) for end in range(len(row))]
                rows.append([table.setdefault(one, rng.normal(0, 2, 4)) for one in beginnings])
            return torch.tensor(np.array(rows), dtype=torch.float32)

        chosen = ["".join(texts[i]) for i in rng.choice(len(texts), 5, replace=False)]
        found = generate(model, choices=chosen, method="beam", beams=20, n=5)
        scores = {}
        for text in chosen:
            tokens = [*("ab".index(c) for c in text), STOP]
            logits = torch.log_softmax(model(torch.tensor([[3, *tokens[:-1]]])).double(), -1)[0]
            scores[text] = sum(float(logits[at, token]) for at, token in enumerate(tokens))
        assert [one.text for one in found] == sorted(scores, key=scores.get, reverse=True)
        assert [one.score for one in found] == pytest.approx([scores[one.text] for one in found], rel=0, abs=4 * LOG_P)


def test_best_of_takes_the_best_of_the_draws():
    options = {"temperature": 1.0, "seed": 3, **CONSTRAINTS["grammar"]}
    drawn = generate(n=6, **options)
    best = generate(method="best_of", candidates=6, **options)
    assert best.tokens == max(drawn, key=lambda one: sum(one.model_logprobs)).tokens
    assert best.score == pytest.approx(max(sum(one.model_logprobs) for one in drawn))
    shortest = generate(method="best_of", candidates=6, n=2, score=lambda one: -len(one.text), **options)
    assert [len(one.text) for one in shortest] == sorted(len(one.text) for one in drawn)[:2]
    complete = generate(
        method="best_of",
        candidates=8,
        temperature=1.0,
        seed=1,
        close=False,
        max_tokens=2,
        score=lambda one: len(one.text),
    )
    assert complete.finish_reason == "stop"  # although those that were cut are longer


# ------------------------------------------------------------------ lookahead, trials


def garden_path(ids):
    """a looks a little better, but whatever comes behind it is a guess; behind b all is clear."""

    def logits(text):
        if not text:
            return [0.55, 0.45, 1e-9, 1e-9]
        if len(text) < 4:
            return [0.4, 0.4, 0.2, 1e-9] if text[0] == 0 else [0.96, 0.02, 0.02, 1e-9]
        return [1e-9, 1e-9, 1.0, 1e-9]

    rows = [[logits(row[1 : end + 1]) for end in range(len(row))] for row in ids.tolist()]
    return torch.log(torch.tensor(rows))


def test_lookahead_chooses_what_goes_on_well():
    greedy = generate(garden_path, regex="[ab]+")
    assert greedy.text == "aaaa"
    seen = generate(garden_path, regex="[ab]+", method="lookahead", entropy=0.6, width=2, depth=3)
    assert seen.text == "baaa"
    assert (
        seen.stats.forwards == greedy.stats.forwards
    )  # both ways at once, and the one that is taken is not read again
    for options in ({"entropy": 0.7}, {"width": 1, "entropy": 0.0}):
        assert generate(garden_path, regex="b[ab]+", method="lookahead", **options).text == "baaa"
    assert generate(garden_path, regex="[ab]+", method="lookahead", entropy=5.0).tokens == greedy.tokens
    assert (
        generate(garden_path, regex="[ab]+", method="lookahead", entropy=0.6, where=lambda t: t[0] != "b").text[0]
        == "a"
    )


def test_trials_keep_the_least_perplexity():
    """The choice is between two, so the greedy way and one that is drawn: the clear one is kept whenever it is drawn."""
    texts = {generate(garden_path, regex="[ab]+", method="trials", depth=4, seed=seed).text for seed in range(12)}
    assert {"aaaa", "baaa"} <= texts
    assert all(text == "aaaa" or text[0] == "b" for text in texts)
    assert {generate(garden_path, regex="[ab]+", method="trials", most=1, seed=seed).text for seed in range(12)} == {
        "aaaa"
    }
    certain = generate(garden_path, regex="ba+", method="trials", most=9)
    assert certain.tokens == generate(garden_path, regex="ba+").tokens
    again = generate(garden_path, regex="[ab]+", method="trials", temperature=1.0, seed=6, n=3)
    assert [one.tokens for one in again] == [
        one.tokens for one in generate(garden_path, regex="[ab]+", method="trials", temperature=1.0, seed=6, n=3)
    ]


# ------------------------------------------------------------------ arguments, and a real model


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "smc", "top_k": 3}, "top_k= with method='smc'"),
        ({"method": "awrs", "top_p": 0.5}, "top_p= with method='awrs'"),
        ({"method": "trials", "min_p": 0.5}, "min_p= with method='trials'"),
        ({"method": "smc", "particles": 0}, "particles"),
        ({"method": "smc", "threshold": 1.5}, "threshold"),
        ({"method": "beam", "beams": 2, "n": 3}, "n=3 with beams=2"),
        ({"method": "beam", "temperature": 1.0}, "temperature= with method"),
        ({"method": "beam", "min_p": 0.1}, "min_p= with method='beam'"),
        ({"method": "best_of", "candidates": 2, "n": 3}, "n=3 with candidates=2"),
        ({"method": "lookahead", "entropy": -1}, "entropy"),
        ({"method": "trials", "depth": 0}, "depth"),
    ],
    ids=named,
)
def test_what_cannot_be_done_is_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        generate(**arguments, **CONSTRAINTS["grammar"])


@pytest.mark.parametrize("method", sorted({*LEFT_TO_RIGHT} - {"masked"}))
def test_a_transformer_with_every_cache(model, tokenizer, method):
    """Several prompts of unequal length, a grammar and a predicate: the answers are those without a cache, and each is allowed."""
    options = {"tokenizer": tokenizer, "regex": "[a-z ]{3,9}", "where": lambda text: "th" not in text, "seed": 4}
    options |= needed(method) | ({} if method == "beam" else {"temperature": 1.0})
    answers = {}
    for cache in ("dynamic", "static", "off") if static_caches_are_right() else ("dynamic", "off"):
        found = gl.generate(model, ["the cat", "a"], method=method, max_tokens=8, cache=cache, **options)
        answers[cache] = [one.tokens for one in found]
        for one in found:
            assert one.finish_reason == "closed" or one.value == one.text
            assert "th" not in one.text
    assert len({tuple(map(tuple, tokens)) for tokens in answers.values()}) == 1


def test_branches_know_what_the_model_says_of_any_text(model, tokenizer):
    """Extended, reordered, gone back, asked again, of unequal length: always the logits of a forward of the whole text."""
    request = prepare(model, ["the cat sat", "a"], Settings(tokenizer=tokenizer, max_tokens=9))
    branches = Branches(request, Sampling())
    for texts in (
        [(0,), (1,)],
        [(1, 7), (0, 9), (0, 30)],
        [(0, 30, 4), (0, 30, 5), (1, 7, 8)],
        [(0, 30, 5, 6)],
        [(0, 9), (1, 7)],
        [(1, 7, 8, 20)],
        [(1, 7, 8, 20), (1, 7), (1, 7, 8, 21, 22)],
        [(1,), (1, 7, 8, 21)],
        [(1, 7, 8, 21, 5), (1, 9, 9), (0, 9)],
        [(0, 9, 4, 4), (1, 9, 9)],
    ):
        steps = branches.steps([reduce(TextNode.child, tokens, TextNode(prompt)) for prompt, *tokens in texts])
        for text, row in zip(texts, steps.model, strict=True):
            ids = torch.tensor([[*request.prompts[text[0]], *text[1:]]])
            with torch.inference_mode():
                expected = torch.log_softmax(model(input_ids=ids).logits[0, -1], -1)
            assert row == pytest.approx(expected.numpy(), rel=0, abs=LOG_P)
