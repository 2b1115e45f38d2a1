"""Rows of logits further on: sequential heads, all states, positions that the target reads beside its texts; and the tree tuner."""

import itertools
import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.published.drafters.positions import Positions, hidden_transfer, prompt_tokens
from grammarlm.published.drafters.rows import Rows
from grammarlm.published.readers.ephemeral import Ephemeral
from grammarlm.published.trees.tree_tuner import tune_tree
from tests.decoding.speculative.draft_models import VOCAB, WIDTH, HashModel, random_ahead, transformers_model
from tests.decoding.speculative.equal_answers import same_answers, written

torch = pytest.importorskip("torch")

COUNT = [3, pytest.param(60, marks=pytest.mark.proof)]
PROMPT, LENGTH, AHEAD = [5, 6, 7], 40, 4
ENOUGH = 0.9 * (AHEAD + 1) * LENGTH / (LENGTH + AHEAD + 1)  # the first round drafts nothing, the last one is cut


@pytest.fixture(scope="module")
def llama():
    return transformers_model("Llama")


def forwards_of(out):
    return len(out.tokens) / out.stats.forwards


def ask(model, drafter, tree="chain", **options):
    draft = gl.Draft(drafter, tree=tree, length=AHEAD)
    return gl.generate(model, PROMPT, vocab=VOCAB, max_tokens=LENGTH, close=False, draft=draft, **options)


# ------------------------------------------------------------------ sequential heads, all states


@pytest.mark.parametrize("kind", ["Llama", "GPT2", "Mistral", "Gemma3Text"])
@pytest.mark.parametrize("count", COUNT)
def test_random_rows_change_nothing(kind, count):
    """Clover, Chimera: EQ with random weights."""
    drafted, _ = same_answers(transformers_model(kind), lambda tree: gl.Draft(Rows(random_ahead(3)), tree=tree), count)
    assert drafted > 20


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_a_sequential_head_gets_the_valid_token_before(llama, tree):
    """Clover: its head finds a forbidden token best, always; it is told the best allowed one, on which the next one depends."""
    grammar, options = "[a-h]{60}", {"vocab": VOCAB, "max_tokens": LENGTH, "close": False}
    text = gl.generate(llama, PROMPT, regex=grammar, **options).tokens
    ids, told = [*PROMPT, *text], []
    after = {tuple(ids[at - 3 : at]): ids[at] for at in range(3, len(ids))}
    assert len({ids[-1] for ids in after}) > 3

    def ahead(seen, said):
        told.extend(said.tolist())
        before = ids[: len(seen.states)][-3:]
        rows = torch.zeros(len(said), WIDTH, dtype=torch.float64)
        rows[:, 200] = 90.0  # no byte of the grammar
        for row, way in zip(rows, said.tolist(), strict=True):
            row[after.get(tuple([*before, *way][-3:]), 100)] = 50.0
        return rows

    draft = gl.Draft(Rows(ahead, output=torch.nn.Identity()), tree=tree, length=AHEAD)
    out = gl.generate(llama, PROMPT, regex=grammar, draft=draft, **options)
    assert out.tokens == text
    assert forwards_of(out) >= ENOUGH
    assert max(map(len, told)) >= AHEAD
    assert all(re.fullmatch(b"[a-h]*", b"".join(VOCAB.token_bytes(token) for token in way)) for way in told)


def test_all_states_reach_the_drafter(llama):
    """Chimera, PLANTED: each time the states of the whole text, as one stock forward has them."""
    text, states = written(llama, PROMPT, LENGTH)
    ids = [*PROMPT, *text, *[2] * 9]

    def ahead(seen, said):
        torch.testing.assert_close(seen.states, states[: len(seen.states)], atol=1e-6, rtol=0)
        assert said[0, 0] == ids[len(seen.states)]
        return 50 * llama.lm_head.weight.detach()[ids[len(seen.states) + said.shape[1]]].expand(len(said), -1)

    for tree in gl.Draft.TREES:
        out = ask(llama, Rows(ahead), tree)
        assert out.tokens == text
        assert forwards_of(out) >= ENOUGH


# ------------------------------------------------------------------ ephemeral positions


def positions(kind, model):
    """Three ephemeral positions of a kind, and a stock computation of their states after a text."""
    generator = torch.Generator().manual_seed(7)
    if kind == "ids":
        ids = [9, 8, 11]

        def stock(text):
            return model.base_model(torch.tensor([[*text, *ids]])).last_hidden_state[0, -3:]

        return Ephemeral(ids=ids), stock
    if kind == "embedded":
        own = torch.randn(3, 32, generator=generator, dtype=torch.float64)

        def stock(text):
            embedded = model.get_input_embeddings()(torch.tensor(text))
            return model.base_model(inputs_embeds=torch.cat((embedded, own))[None]).last_hidden_state[0, -3:]

        return prompt_tokens(own).ephemeral, stock
    maps = [torch.randn(32, 32, generator=generator, dtype=torch.float64) for _ in range(3)]

    def stock(text):
        def enter(module, given):
            states = given[0].clone()
            for k, each in enumerate(maps):
                states[0, len(text) + k] = states[0, len(text) - 1] @ each
            return (states, *given[1:])

        hook = model.model.layers[1].register_forward_pre_hook(enter)
        try:
            return model.base_model(torch.tensor([[*text, 3, 3, 3]])).last_hidden_state[0, -3:]
        finally:
            hook.remove()

    return hidden_transfer(1, [lambda states, each=each: states @ each for each in maps]).ephemeral, stock


KINDS = ("ids", "embedded", "transferred")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", COUNT)
def test_ephemeral_positions_change_nothing(llama, kind, count):
    """ConFu (ids), PPD (embedded), Hidden Transfer (transferred): EQ with random weights."""
    ephemeral, _ = positions(kind, llama)
    drafted, _ = same_answers(llama, lambda tree: gl.Draft(Positions(ephemeral, random_ahead(4)), tree=tree), count)
    assert drafted > 20


@pytest.mark.parametrize("tree", gl.Draft.TREES)
@pytest.mark.parametrize("kind", KINDS)
def test_ephemeral_positions_are_where_they_belong(llama, kind, tree):
    """PLANTED: the drafter knows what follows each state that a stock forward gives these positions; no forward is added."""
    ephemeral, stock = positions(kind, llama)
    text, _ = written(llama, PROMPT, LENGTH)
    ids = [*PROMPT, *text, *[2] * 9]
    with torch.no_grad():
        known = torch.stack([stock(ids[:end]) for end in range(3, len(PROMPT) + LENGTH + 1)])

    def ahead(seen, said):
        off = (known - seen.after).abs().amax((1, 2))
        assert off.min() < 1e-6
        end = 3 + int(off.argmin())
        return 50 * llama.lm_head.weight.detach()[ids[end + said.shape[1]]].expand(len(said), -1)

    calls = []
    hook = llama.model.layers[1].register_forward_hook(lambda *_: calls.append(1))
    out = ask(llama, Positions(ephemeral, ahead), tree)
    hook.remove()
    assert out.tokens == text
    assert forwards_of(out) >= ENOUGH
    assert len(calls) == out.stats.forwards


def test_models_without_such_attention_are_refused():
    for model, message in (
        (HashModel(1, 2), "needs a transformers model"),
        (transformers_model("Gemma3Text"), "need a model whose attention reads trees by a mask"),
        (transformers_model("Mamba"), "need a model whose attention reads trees by a mask"),
    ):
        draft = gl.Draft(Positions(Ephemeral(ids=[4]), random_ahead(1)))
        with pytest.raises(ValueError, match=message):
            gl.generate(model, [5], vocab=VOCAB, max_tokens=5, draft=draft)


# ------------------------------------------------------------------ the tree tuner


def trees_up_to(rates, most):
    """All trees of at most so many nodes: sets of rank paths, each with the paths that lead to it."""
    paths = [
        path
        for depth in range(1, len(rates) + 1)
        for path in itertools.product(*(range(len(each)) for each in rates[:depth]))
    ]
    for count in range(most + 1):
        for tree in itertools.combinations(paths, count):
            if all(path[:-1] in ((), *tree) for path in tree):
                yield tree


@pytest.mark.parametrize("seed", range(12))
def test_the_tuned_tree_is_the_best_of_all(seed):
    """PPD's tuner, by brute force over all trees of at most five nodes: the most expected tokens a second."""
    rng = np.random.default_rng(seed)
    rates = [sorted(rng.dirichlet([1.0] * 4)[:3].tolist(), reverse=seed % 2 == 0) for _ in range(2)]
    seconds = (1 + np.cumsum([0, *rng.uniform(0, 0.3, 5)])).tolist()

    def worth(tree):
        return (1 + sum(np.prod([rates[at][rank] for at, rank in enumerate(path)]) for path in tree)) / seconds[
            len(tree)
        ]

    assert worth(tune_tree(rates, seconds)) == pytest.approx(max(map(worth, trees_up_to(rates, 5))), abs=1e-12)


def test_a_tuned_tree_is_drafted(llama):
    """PPD: where the second candidate is right, a tree that has it beats a chain; and the answer is the same."""
    text, _ = written(llama, PROMPT, LENGTH)
    ids = [*PROMPT, *text, *[2] * 9]

    def ahead(seen, said):
        rows = torch.zeros(len(said), WIDTH, dtype=torch.float64)
        place = len(seen.states) + said.shape[1]
        rows[:, ids[place]] = 40.0
        if place % 2:
            rows[:, 90 + place] = 50.0
        return rows

    tree = tune_tree([[0.5, 0.5], [0.5, 0.5]], [1.0] * 7)
    assert set(tree) == {(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)}
    chain = ask(llama, Rows(ahead, output=torch.nn.Identity()))
    tuned = ask(llama, Rows(ahead, output=torch.nn.Identity()), tree)
    assert chain.tokens == tuned.tokens == text
    assert chain.stats.forwards >= 1.4 * tuned.stats.forwards
    drafter = lambda tree: gl.Draft(Rows(random_ahead(2)), tree=tree)  # noqa: E731
    assert same_answers(llama, drafter, 4, [[(0,), (1,), (0, 0), (1, 0)]])[0] > 20
