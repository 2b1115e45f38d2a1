"""method="pool": HyPER's budget and votes, ZIP-RC's subsets by an exhaustive search over joint outcomes, reserved ids."""

import itertools
import json
import math
import re

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding import Moves
from grammarlm.published.methods.pools.outlook import best_subset
from tests.counts import record_counts, tiers
from tests.decoding.methods.two_models import FIRST, LETTERS, PROMPTS, VOCAB, WIDTH, generate

LONG = {"choices": None, "regex": "[abcd]{3,9}", "max_tokens": 10}
DRAWN = {"temperature": 1.0, "seed": 4}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"enum": [1, 2, True]}, "b": {"enum": ["x", None]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
ANY_ORDER = gl.JsonSchema(SCHEMA, property_order="any")

# ------------------------------------------------------------------ HyPER


def votes_of(answers, weight):
    """What each value has, by comparing the JSON texts of values."""
    found = {}
    for one in answers:
        what = json.dumps(one.value, sort_keys=True)
        found[what] = found.get(what, 0.0) + weight(one)
    return found


@tiers("seeds", 6, 150)
def test_hyper_writes_no_more_than_its_budget(seeds):
    """Counted as rows of forwards; a smaller budget is a smaller pool, down to one path."""
    for seed in range(seeds):
        for budget in (10, 13, 25, 60):
            rows = []

            def counting(ids, rows=rows):
                rows.append(len(ids))
                return FIRST(ids)

            given = {**LONG, "temperature": 1.5, "seed": seed, "forced": "off"}
            [out] = generate("pool", [[2]], counting, budget=budget, candidates=3, **given)
            written = out.stats.log[-1]["tokens"]
            assert written <= min(budget, min(3, budget - 9) + sum(rows[1:]))
            assert re.fullmatch(LONG["regex"], out.text)
            assert max(rows) <= 6
            if budget == 10:
                [alone] = generate("masked", [[2]], **given)
                assert out.tokens == alone.tokens


def test_hyper_forks_early_where_the_model_is_unsure():
    def flat(ids):
        return torch.zeros(*ids.shape, WIDTH)

    def sure(ids):
        return 20.0 * torch.nn.functional.one_hot((ids + 1) % 4, WIDTH)

    [out] = generate("pool", [[2]], flat, candidates=3, **LONG, **DRAWN)
    assert out.stats.log[-1]["paths"] == 6
    [out] = generate("pool", [[2]], sure, candidates=3, **LONG, **DRAWN)
    assert out.stats.log[-1]["paths"] == 3


def test_hyper_drops_late_what_the_model_does_not_believe():
    """Two beginnings: after one the model is sure, after the other it is not. Then the unsure paths are dropped."""

    def model(ids):
        logits = torch.zeros(*ids.shape, WIDTH)
        logits[:, :, 4] = -9.0
        for row, text in enumerate(ids.tolist()):
            for end in range(1, len(text)):
                if text[1] == 0:
                    logits[row, end, 0] = 20.0
        return logits

    texts = [a + "".join(rest) for a in "ab" for rest in itertools.product("ab", repeat=6)]
    rows = []

    def counting(ids):
        rows.append(len(ids))
        return model(ids)

    for seed in range(6):
        rows.clear()
        given = {"choices": texts, "temperature": 1.0, "seed": seed, "budget": 40, "max_tokens": 10}
        [out] = generate("pool", [[2]], counting, candidates=6, **given)
        if out.text == "aaaaaaa":
            assert rows[-1] < max(rows)
    assert rows


def test_hyper_ends_once_the_vote_is_decided():
    """Three short answers that agree, and one that is long: it is not waited for."""

    def model(ids):
        logits = torch.full((*ids.shape, WIDTH), -30.0)
        for row, text in enumerate(ids.tolist()):
            for end in range(len(text)):
                so_far = text[1 : end + 1]
                if not so_far:
                    logits[row, end, :2] = torch.tensor([1.0, -1.0])
                else:
                    logits[row, end, so_far[0]] = 9.0
        return logits

    lengths = []

    def counting(ids):
        lengths.append(ids.shape[1])
        return model(ids)

    decided = 0
    for seed in range(8):
        lengths.clear()
        given = {"choices": ["a" * 30, "b" * 60], "temperature": 1.0, "seed": seed, "max_tokens": 64, "forced": "off"}
        [out] = generate("pool", [[2]], counting, candidates=5, **given)
        decided += out.text == "a" * 30 and max(lengths) < 50
    assert decided > 0


def test_two_spellings_are_one_vote():
    """Those of one value count together, as an independent count of the candidates says."""
    vocab = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], stop_ids=[256])
    texts = [b'{"a":1,"b":"x"}', b'{"b":"x","a":1}', b'{"a":2,"b":null}']

    def model(ids):
        logits = torch.full((*ids.shape, 257), -9.0)
        for row, line in enumerate(ids.tolist()):
            for end in range(len(line)):
                written = bytes(line[1 : end + 1])
                for text in texts:
                    if text.startswith(written):
                        logits[row, end, text[end] if end < len(text) else 256] = 9.0
        return logits

    agreed = 0
    for seed in range(6):
        options = {"vocab": vocab, "grammar": ANY_ORDER, "temperature": 1.0, "seed": seed, "max_tokens": 40}
        draws = gl.generate(model, [0], n=7, **options)
        waits = {"controller": lambda paths: None, "candidates": 7}
        out = gl.generate(model, [0], method="pool", **waits, **options)

        def weight(one):
            return math.exp(sum(one.logprobs) / len(one.logprobs)) * len(one.tokens) / (len(one.tokens) + 16)

        votes = votes_of(draws, weight)
        best = max(votes, key=votes.get)
        assert json.dumps(out.value, sort_keys=True) == best
        assert out.score == pytest.approx(votes[best] / sum(votes.values()))
        agreed += len({one.text for one in draws if json.dumps(one.value, sort_keys=True) == best}) > 1
    assert agreed > 0


# ------------------------------------------------------------------ ZIP-RC


def exhaustive(grids, done, alpha, beta):
    """(utility, subset) of all subsets, best first, by summing over all joint outcomes of rewards and lengths."""
    found = []
    for size in range(0 if done else 1, len(grids) + 1):
        for subset in itertools.combinations(range(len(grids)), size):
            laws = [[((r, j), p) for r, row in enumerate(grids[at]) for j, p in enumerate(row)] for at in subset]
            laws += [[((r, 0), p) for r, p in enumerate(law)] for law in done]
            utility = 0.0
            for outcome in itertools.product(*laws):
                p = math.prod(each for _, each in outcome)
                rewards = [r / (len(grids[0]) - 1) for (r, _), _ in outcome]
                lengths = [j for (_, j), _ in outcome]
                utility += p * (max(rewards) - alpha * sum(lengths) - beta * max(lengths))
            found.append((utility, subset))
    return sorted(found, key=lambda one: -one[0])


@tiers("count", 40, 1000)
def test_the_best_subset_is_that_of_an_exhaustive_search(count, record_property):
    noise, sizes = np.random.default_rng(8), {}
    for _ in range(count):
        paths, rewards = int(noise.integers(1, 4)), int(noise.integers(2, 4))
        widths = noise.integers(2, 4, size=paths)
        grids = [noise.dirichlet(np.full(rewards * width, 0.5)).reshape(rewards, width) for width in widths]
        done = [noise.dirichlet(np.full(rewards, 0.5)) for _ in range(int(noise.integers(0, 2)))]
        alpha, beta = noise.exponential(0.03), noise.exponential(0.05)
        ranked = exhaustive(grids, done, alpha, beta)
        found = best_subset(grids, done, alpha, beta)
        utility = next(value for value, subset in ranked if subset == found)
        assert utility == pytest.approx(ranked[0][0], abs=1e-10)
        sizes[f"{len(found)} paths"] = sizes.get(f"{len(found)} paths", 0) + 1
    assert len(sizes) > 2
    record_counts(record_property, sizes)


def test_eight_paths_by_their_definition():
    """Too many outcomes to sum over: by draws from the grids instead, which all subsets share."""
    noise = np.random.default_rng(2)
    for _ in range(3):
        grids = [noise.dirichlet(np.full(12, 0.4)).reshape(3, 4) for _ in range(8)]
        drawn = np.array([noise.choice(12, size=40_000, p=grid.reshape(-1)) for grid in grids])
        rewards, lengths = drawn // 4 / 2, drawn % 4
        utilities = {}
        for size in range(1, 9):
            for subset in itertools.combinations(range(8), size):
                rows = list(subset)
                mean = rewards[rows].max(axis=0) - 0.03 * lengths[rows].sum(axis=0) - 0.02 * lengths[rows].max(axis=0)
                utilities[subset] = mean.mean()
        found = best_subset(grids, [], 0.03, 0.02)
        assert utilities[found] >= max(utilities.values()) - 0.01


def planned_model(ids):
    """Ids 0 to 3 are letters, 4 ends, 5 and 6 hold a prediction: of a good and of a bad answer, by the first letter."""
    logits = torch.cat([FIRST(torch.where(ids > 3, 0, ids)), torch.zeros(*ids.shape, 2)], -1)
    for row, text in enumerate(ids.tolist()):
        for end in range(1, len(text)):
            logits[row, end, 5] = 4.0 if text[1] in (0, 1) else -4.0
    return logits


WIDE = gl.Vocabulary([*(letter.encode() for letter in LETTERS), b"", b"e", b"f"], stop_ids=[4])


def predictor(logits):
    """[2 rewards, 6 lengths]: the chance to be good, and one to five tokens more."""
    good = 1 / (1 + math.exp(float(logits[6] - logits[5])))
    return np.outer([1 - good, good], [0, 0.2, 0.2, 0.2, 0.2, 0.2])


def test_the_predictor_says_what_goes_on():
    """Before it has seen their first letters four paths are worth their tokens, then one good one is; that answers."""
    for seed in range(6):
        given = {**LONG, "temperature": 2.0, "seed": seed, "vocab": WIDE}
        predicted = {"reserved": [5, 6], "candidates": 6, "predictor": predictor, **given}
        [all_go_on] = generate("pool", [[2]], planned_model, **predicted)
        [few] = generate("pool", [[2]], planned_model, alpha=0.02, **predicted)
        assert few.stats.log[-1]["tokens"] < all_go_on.stats.log[-1]["tokens"]
        draws = generate("masked", [[2]], planned_model, n=6, **given)
        good = [draw.tokens for draw in draws[:4] if draw.text[0] in "ab"]
        assert few.tokens in (good or [draw.tokens for draw in draws[:4]])


@tiers("count", 100, 1000)
@pytest.mark.parametrize("held", ["free", "regex", "items", "predicted"])
def test_reserved_ids_are_never_drawn(held, count):
    """Whatever the model thinks of them, whatever they spell: text that others spell as well, or nothing."""
    loud = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 9.0, 9.0, 0.0])
    vocab = gl.Vocabulary([b"a", b"b", b"c", b"d", b"", b"ab", b"cd"], stop_ids=[4], size=8)

    def model(ids):
        return loud.expand(*ids.shape, 8)

    constraint = {
        "free": {},
        "regex": {"regex": "(ab|cd){1,3}"},
        "items": {"items": [[0, 1], [2, 3, 0]]},
        "predicted": {"regex": "(ab|cd){1,3}", "predictor": lambda logits: np.full((2, 2), logits[5] / 36)},
    }[held]
    options = {"vocab": vocab, "max_tokens": 6, "method": "pool", "candidates": 4, "n": 4, "temperature": 1.0}
    for seed in range(count // 4):
        for out in gl.generate(model, [0], reserved=[5, 6, 7, 11], seed=seed, **options, **constraint):
            assert not {5, 6, 7} & {*out.tokens}
            assert out.error is None
    outs = gl.generate(model, [0], seed=1, **{**options, "candidates": 8, "n": 8}, **constraint)
    assert held == "items" or any({5, 6} & {*out.tokens} for out in outs)  # without reserved= they are


def test_predictions_are_read_before_the_mask():
    seen = []

    def watching(logits):
        seen.append(logits.copy())
        return np.full((2, 2), 0.25)

    generate("pool", [[2]], planned_model, **LONG, **DRAWN, vocab=WIDE, reserved=[5, 6], predictor=watching)
    assert {len(logits) for logits in seen} == {7}
    assert all(np.isfinite(logits).all() and abs(logits[5]) == 4 for logits in seen if logits[5])


# ------------------------------------------------------------------ all of them


def test_a_controller_of_ones_own():
    seen = []

    def halves(paths):
        seen.append((paths.spent, paths.budget, len(paths.running)))
        ranked = sorted(paths.running, key=lambda path: path.number)
        return Moves(drop=ranked[1:]) if len(ranked) > 1 else Moves()

    [out] = generate("pool", [[2]], controller=halves, candidates=4, **LONG, **DRAWN)
    [first] = generate("masked", [[2]], **LONG, **DRAWN)
    assert (out.tokens, out.score) == (first.tokens, 1.0)
    assert seen[0] == (4, 40, 4)
    assert {running for *_, running in seen[1:]} == {1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controller": lambda paths: 1 / 0}, "controller= raised ZeroDivisionError"),
        ({"controller": lambda paths: "drop"}, "controller= raised TypeError: it returned 'drop'"),
        ({"predictor": lambda logits: 1 / 0}, "predictor= raised ZeroDivisionError"),
        (
            {"predictor": lambda logits: [0.5, 0.5]},
            "ValueError: predictor= returned [0.5, 0.5]; it returns probabilities",
        ),
        ({"predictor": lambda logits: [[0.5, math.nan]]}, "predictor= returned [[0.5, nan]]"),
        ({"predictor": lambda logits: [[0.5, 0.2]]}, "predictor= returned [[0.5, 0.2]]"),
        ({"predictor": lambda logits: [[1.5], [-0.5]]}, "predictor= returned [[1.5], [-0.5]]"),
        ({"predictor": lambda logits: []}, "predictor= returned []"),
        ({"predictor": lambda logits: "high"}, "predictor= raised ValueError: could not convert"),
    ],
    ids=["raises", "text", "predictor raises", "a row", "nan", "no law", "negative", "empty", "words"],
)
def test_functions_that_fail_are_told_by_name(options, message):
    outs = generate("pool", n=2, candidates=2, **options, **LONG, **DRAWN)
    assert {(out.finish_reason, out.value) for out in outs} == {("error", None)}
    for out in outs:
        assert message in out.error
        assert len(out.error) <= 500


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"budget": 9}, ValueError, "budget=9 is less than one path may need, max_tokens=10"),
        ({"candidates": 9, "predictor": predictor}, ValueError, "candidates=9; it takes an integer from 1 to 8"),
        ({"controller": 5}, TypeError, "controller is 5; it takes a function"),
        ({"predictor": "grid"}, TypeError, "predictor is 'grid'; it takes a function"),
        ({"controller": print, "predictor": predictor}, ValueError, "predictor= and controller= both say"),
        ({"alpha": 0.1}, ValueError, "alpha= and beta= weigh what predictor= predicts"),
        ({"alpha": -1, "predictor": predictor}, ValueError, "alpha=-1; it takes a number, 0 or more"),
        ({"beta": math.nan, "predictor": predictor}, ValueError, "beta=nan"),
        ({"reserved": [4]}, ValueError, "reserved= holds the id 4, which ends texts"),
        ({"reserved": 3}, TypeError, "reserved is 3; it takes a list of ids"),
        ({"reserved": ["a"]}, TypeError, "reserved[0] is 'a'; it takes an integer"),
        ({"reserved": [-1]}, ValueError, "reserved[0]=-1"),
    ],
    ids=[
        "budget", "candidates", "controller", "predictor", "both", "alone", "alpha", "beta", "stop", "number", "text",
        "negative",
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate("pool", **{**LONG, **options})


def test_an_alphabet_that_is_reserved():
    with pytest.raises(gl.GrammarError, match="spell"):
        generate("pool", reserved=[0, 1, 2, 3], **LONG)


def test_reserved_ids_of_a_compiled_grammar():
    compiled = gl.compile(gl.Regex("[abcd]{3,9}"), VOCAB)
    given = {"choices": None, "grammar": compiled, "max_tokens": 10, **DRAWN}
    assert len(generate("pool", **given)) == len(PROMPTS)
    with pytest.raises(ValueError, match="reserved= holds ids that spell text, and the grammar is compiled with them"):
        generate("pool", reserved=[1], **given)
