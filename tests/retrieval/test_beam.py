"""beam_search: models with their caches, diverse groups, values, samples, and its arguments; each against a plain one."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding import beam_search
from tests.decoding.random_models import random_model
from tests.oracles.plain_beams import log_probabilities, plain_beams
from tests.rounding import LOG_P

torch = pytest.importorskip("torch")

WIDTH = 7
MATRIX = np.random.default_rng(3).integers(0, WIDTH, (60, 3))


def logits(prefix, seed=0):
    return (np.random.default_rng([seed, len(prefix), *prefix]).standard_normal(WIDTH) * 1.5).astype(np.float32)


def stepper(seed=0, searches=1):
    """A `step` that knows what it has read."""
    rows = [() for _ in range(searches)]

    def step(tokens, parents):
        above = list(rows)
        rows[:] = [above[p] if tokens is None else (*above[p], tokens[i]) for i, p in enumerate(parents)]
        return np.stack([logits(prefix, seed) for prefix in rows])

    return step


def recomputed(model, prompt, width):
    """A plain model: the logits after the prompt and a prefix, everything read anew."""

    def logits_after(prefix):
        with torch.no_grad():
            if model.config.is_encoder_decoder:
                start = [model.config.decoder_start_token_id]
                out = model(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([[*start, *prefix]]))
            else:
                out = model(input_ids=torch.tensor([[*prompt, *prefix]]), use_cache=False)
        return out.logits[0, -1].float().numpy()

    return logits_after


def encoder_decoder(kind):
    import transformers

    torch.manual_seed(0)
    sizes = {
        "T5": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
        "Bart": {
            "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
            "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "init_std": 0.5,
        },
    }[kind]  # fmt: skip
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=40, decoder_start_token_id=1, pad_token_id=0, bos_token_id=1, eos_token_id=2, **sizes
    )
    name = {"T5": "T5ForConditionalGeneration", "Bart": "BartForConditionalGeneration"}[kind]
    return getattr(transformers, name)(config).double().eval()


KINDS = {
    "Llama": {},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "Mistral": {"sliding_window": 3},
    "Gemma2": {"sliding_window": 3},
    "Mamba": {},
}


@pytest.mark.parametrize("kind", [*KINDS, "T5", "Bart"])
def test_models_with_their_caches(kind):
    """Prompts of different lengths, items of different lengths, with and without a stop token."""
    model = random_model(kind, 40, **KINDS[kind]) if kind in KINDS else encoder_decoder(kind)
    rng = np.random.default_rng(1)
    items = [tuple(rng.integers(5, 40, rng.integers(1, 5)).tolist()) for _ in range(60)]
    items += [item[:2] for item in items]
    prompts = [[4, 5, 6, 7], [9, 30], [11, 12, 13, 14]]
    tokens = gl.Tokens([list(item) for item in items])
    for stop in (None, 2):
        results = beam_search(model, tokens, 6, stop, prompt=prompts)
        for prompt, result in zip(prompts, results, strict=True):
            want = plain_beams(recomputed(model, prompt, 40), items, 6, stop)
            np.testing.assert_allclose(result.scores, [score for score, _ in want], rtol=0, atol=4 * LOG_P)
            assert result.tokens == [item for _, item in want]
    alone = beam_search(model, tokens, 6, 2, prompt=prompts[1])
    assert alone.tokens == results[1].tokens


def plain_groups(items, beams, groups, diversity):
    """Diverse beams over items of one length: each group is a plain search, which pays for what earlier groups took."""
    length = len(next(iter(items)))
    widths = [beams // groups + (g < beams % groups) for g in range(groups)]
    kept = [[(0.0, ())] for _ in range(groups)]
    for depth in range(length):
        taken = Counter()
        for g, width in enumerate(widths):
            found = []
            for score, prefix in kept[g]:
                logp = log_probabilities(logits(prefix))
                for token in sorted({item[depth] for item in items if item[:depth] == prefix}):
                    key = score + logp[token] - taken[token] * diversity
                    found.append((-key, (*prefix, token), score + logp[token]))
            kept[g] = [(score, prefix) for _, prefix, score in sorted(found)[:width]]
            taken.update(prefix[-1] for _, prefix in kept[g])
    return sorted({(score, item) for group in kept for score, item in group}, key=lambda found: (-found[0], found[1]))


@pytest.mark.parametrize(("beams", "groups", "diversity"), [(6, 2, 0.5), (7, 3, 2.0), (5, 5, 100.0), (4, 2, 0.0)])
def test_diverse_groups(beams, groups, diversity):
    items = {tuple(row) for row in MATRIX.tolist()}
    result = beam_search(stepper(), gl.Tokens(MATRIX), beams, groups=groups, diversity=diversity)
    want = plain_groups(items, beams, groups, diversity)
    assert result.tokens == [item for _, item in want]
    np.testing.assert_allclose(result.scores, [score for score, _ in want], atol=1e-9)
    assert [tuple(MATRIX[row]) for row in result.items] == result.tokens


def worth(prefix):
    """A value that the model does not know of."""
    return float(np.sin(sum((i + 1) * token for i, token in enumerate(prefix))) * 3)


def plain_guided(items, beams, proposals, levels):
    """Fixed-length items; the first `levels` levels are guided, the others go by the scores alone."""
    kept = [(0.0, ())]
    for depth in range(len(next(iter(items)))):
        found = []
        for score, prefix in kept:
            logp = log_probabilities(logits(prefix))
            tokens = sorted({item[depth] for item in items if item[:depth] == prefix})
            found += [(-(score + logp[token]), (*prefix, token)) for token in tokens]
        found = sorted(found)[:proposals]
        if depth < levels:
            found.sort(key=lambda f: f[0] - worth(f[1]))
        kept = [(-cost, prefix) for cost, prefix in found[:beams]]
    return kept


@pytest.mark.parametrize(("budget", "levels"), [(None, 3), (0, 0), (7, 1), (1000, 3)])
def test_values_guide(budget, levels):
    asked = []

    def value(prefixes):
        asked.extend(prefixes)
        return [worth(prefix) for prefix in prefixes]

    items = {tuple(row) for row in MATRIX.tolist()}
    result = beam_search(stepper(), gl.Tokens(MATRIX), 4, value=value, proposals=9, value_budget=budget)
    want = plain_guided(items, 4, 9, levels)
    assert result.tokens == [item for _, item in want]
    np.testing.assert_allclose(result.scores, [score for score, _ in want], atol=1e-9)
    assert len(asked) == len(set(asked)) <= (27 if budget is None else budget)
    if levels == 3:
        np.testing.assert_allclose(result.keys, [score + worth(item) for score, item in want], atol=1e-9)


def test_values_keep_with_finished_items():
    """An item that ended early keeps its value, and -inf forbids."""
    tokens = gl.Tokens([[1], [2, 3], [2, 4], [5, 5, 5]])
    values = {(1,): -50.0, (2,): 0.0, (5,): -math.inf, (2, 3): -100.0, (2, 4): 1.0}
    result = beam_search(stepper(), tokens, 2, value=lambda prefixes: [values[p] for p in prefixes])
    assert result.tokens == [(2, 4), (1,)]


def item_probabilities(items):
    """Of each item, with the probabilities of every step renormalised over what is allowed."""
    found = {}
    for item in items:
        score = 0.0
        for depth, token in enumerate(item):
            allowed = sorted({other[depth] for other in items if other[:depth] == item[:depth]})
            score += log_probabilities(logits(item[:depth]), allowed)[token]
        found[item] = math.exp(score)
    return found


def test_samples_follow_the_law_of_draws_without_replacement():
    items = {(0, 1), (0, 2), (3, 1), (3, 3), (5, 0)}
    probabilities = item_probabilities(items)
    assert sum(probabilities.values()) == pytest.approx(1)
    tokens, draws = gl.Tokens([list(item) for item in items]), 4000
    results = beam_search(stepper(searches=draws), tokens, 2, batch=draws, seed=5)
    seen = Counter(tuple(result.tokens) for result in results)
    for first, second in itertools.permutations(items, 2):
        expected = draws * probabilities[first] * probabilities[second] / (1 - probabilities[first])
        assert abs(seen[first, second] - expected) < 5 * math.sqrt(expected + 1)
    for result in results[:50]:
        np.testing.assert_allclose(
            [math.exp(s) for s in result.scores], [probabilities[item] for item in result.tokens]
        )
        assert result.keys == sorted(result.keys, reverse=True)


def test_samples_of_items_that_begin_others_need_a_stop_token():
    tokens = gl.Tokens([[1], [1, 2], [3]])
    with pytest.raises(ValueError, match=r"an item is the beginning of another.*needs stop="):
        beam_search(stepper(), tokens, 3, seed=0)
    assert sorted(beam_search(stepper(), tokens, 3, 0, seed=0).tokens) == [(1,), (1, 2), (3,)]
    with pytest.raises(ValueError, match="an item is the beginning of another"):
        beam_search(stepper(), gl.Tokens([[], [1]]), 3, seed=0)


def test_what_is_never_taken():
    """-inf, and rows that are no numbers."""
    tokens = gl.Tokens([[0], [1], [2]])
    table = torch.tensor([[0.0, -math.inf, 1.0]])
    assert beam_search(lambda t, p: table, tokens, 3).tokens == [(2,), (0,)]
    assert beam_search(lambda t, p: table * math.nan, tokens, 3).tokens == []
    assert beam_search(lambda t, p: table * math.nan, tokens, 3, normalise="allowed").tokens == []


def test_ids_and_exclusion():
    tokens = gl.Tokens([[1, 2], [1, 3], [4, 4]], ids=["a", "b", "c"])
    first = beam_search(stepper(), tokens, 2)
    assert [["a", "b", "c"][row] for row in first.items] == first.ids.tolist()
    rest = beam_search(stepper(), tokens, 2, exclude=first.tokens)
    assert sorted([*first.ids, *rest.ids]) == ["a", "b", "c"]


def test_strings_are_spelled_by_the_vocabulary(tokenizer):
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    names = ["the hat", "the cat", "a hat"]
    result = beam_search(lambda t, p: torch.zeros(len(p), vocab.size), gl.Tokens(names), 5, vocab=vocab)
    assert sorted(names[row] for row in result.items) == sorted(names)
    assert result.tokens[0] == tuple(vocab.encode(names[result.items[0]]))


TWO = gl.Tokens([[1, 2], [3, 4]])
WRONG = [
    (lambda: beam_search(3, TWO), TypeError, "step is int"),
    (lambda: beam_search(stepper(), TWO, 0), ValueError, "beams=0"),
    (lambda: beam_search(stepper(), TWO, 5, -1), ValueError, "stop=-1"),
    (lambda: beam_search(stepper(), TWO, 5, prompt=[1]), ValueError, "prompt= is for transformers models"),
    (
        lambda: beam_search(stepper(), TWO, 5, normalise="some"),
        ValueError,
        "normalise='some'; it takes 'full' or 'allowed'",
    ),
    (lambda: beam_search(stepper(), TWO, 5, normalise="full", seed=1), ValueError, "seed= draws from a distribution"),
    (lambda: beam_search(stepper(), TWO, 5, groups=6), ValueError, "groups=6"),
    (lambda: beam_search(stepper(), TWO, 5, groups=2, diversity=-1.0), ValueError, "diversity=-1.0"),
    (lambda: beam_search(stepper(), TWO, 5, groups=2, seed=1), ValueError, "groups= and seed= are given"),
    (lambda: beam_search(stepper(), TWO, 5, value=3), TypeError, "value is int"),
    (lambda: beam_search(stepper(), TWO, 5, proposals=9), ValueError, "proposals= and value_budget= are about value="),
    (
        lambda: beam_search(stepper(), TWO, 5, value=lambda p: [1.0]),
        ValueError,
        r"value returned an array of shape \[1\] for 2",
    ),
    (lambda: beam_search(stepper(), TWO, 5, value=lambda p: [math.nan] * len(p)), ValueError, "value returned nan"),
    (lambda: beam_search(lambda t, p: [1], TWO), TypeError, "step returned list"),
    (
        lambda: beam_search(lambda t, p: torch.zeros(7), TWO),
        ValueError,
        r"step returned torch.float32 \[7\] for 1 prefixes",
    ),
    (lambda: beam_search(lambda t, p: torch.zeros(1, 4), TWO), ValueError, "the logits are 4 wide, and 4 is a token"),
    (
        lambda: beam_search(stepper(), TWO, 5, 9),
        ValueError,
        "the logits are 7 wide, and 9 is a token of an item, or stop",
    ),
    (lambda: beam_search(stepper(), TWO, 5, batch=0), ValueError, "batch=0"),
    (
        lambda: beam_search(stepper(), TWO, 5, batch=3, subset=[None, None]),
        ValueError,
        "there are 2 subsets for 3 searches",
    ),
    (lambda: beam_search(stepper(), gl.Tokens(["a"])), ValueError, "these items are strings.*pass vocab="),
]


@pytest.mark.parametrize(("call", "kind", "message"), WRONG)
def test_wrong_arguments_are_said(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_a_model_needs_a_prompt(model):
    with pytest.raises(ValueError, match="a model needs a prompt"):
        beam_search(model, TWO)
    with pytest.raises(ValueError, match="a prompt has no ids"):
        beam_search(model, TWO, prompt=[[1], []])
    with pytest.raises(ValueError, match="batch=3, and there are 1 prompts"):
        beam_search(model, TWO, prompt=[1], batch=3)
