"""The target's own first layers as a drafter that shares what they have read, and residuals that are changed on the way."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.published.readers.split import SplitReader
from tests.decoding.random_models import random_model
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH, HashModel, deep, transformers_model
from tests.decoding.speculative.equal_answers import same_answers, written
from tests.rounding import assert_logits

torch = pytest.importorskip("torch")

COUNT = [3, pytest.param(60, marks=pytest.mark.proof)]
PROMPT, LENGTH, AHEAD = [5, 6, 7], 40, 4
ENOUGH = 0.9 * (AHEAD + 1) * LENGTH / (LENGTH + AHEAD)


class Positions:
    """Counts the positions that each layer of a model reads."""

    def __init__(self, model):
        layers = model.model.layers
        self.counts, self.calls = [0] * len(layers), [0] * len(layers)
        self.hooks = [
            layer.register_forward_hook(lambda _, given, __, at=at: self.note(at, given[0]))
            for at, layer in enumerate(layers)
        ]

    def note(self, at, states):
        self.counts[at] += states.shape[0] * states.shape[1]
        self.calls[at] += 1

    def stop(self):
        for hook in self.hooks:
            hook.remove()


# ------------------------------------------------------------------ shared layers


@pytest.mark.parametrize("kind", ["Llama", "GPT2", "Qwen2", "Gemma3Text", "Mistral"])
@pytest.mark.parametrize("count", COUNT)
def test_an_exit_that_shares_its_layers_changes_nothing(kind, count):
    """Kangaroo: EQ, without an adapter and with a random one."""
    model = deep(kind)
    mix = torch.randn(32, 32, generator=torch.Generator().manual_seed(1), dtype=torch.float64) / 6
    for adapter in (None, lambda states: states + states @ mix)[: 2 if kind == "Llama" else 1]:
        make = lambda tree, adapter=adapter: gl.Draft("exit", tree=tree, layers=2, eta=0.1, adapter=adapter)  # noqa: E731
        drafted, accepted = same_answers(model, make, count, ("chain",))
        assert drafted > 20
        assert accepted or adapter


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.0, "seed": 3}])
def test_shared_layers_read_each_token_once(sampling):
    """Kangaroo: every layer reads the same positions; an exit that does not share reads the first two layers' twice or more."""
    model, options = deep(), {"vocab": VOCAB, "max_tokens": LENGTH, "close": False, **sampling}
    plain = gl.generate(model, PROMPT, **options)
    counts = {}
    for name, shared in (("shared", {"eta": 0.0}), ("apart", {})):
        positions = Positions(model)
        out = gl.generate(model, PROMPT, draft=gl.Draft("exit", layers=2, length=AHEAD, **shared), **options)
        positions.stop()
        assert out.tokens == plain.tokens
        assert out.stats.accepted_tokens > 10
        assert positions.calls[2:] == [out.stats.forwards] * 4
        counts[name] = positions.counts
    assert len(set(counts["shared"])) == 1
    assert counts["shared"][0] <= len(PROMPT) + LENGTH + out.stats.draft_tokens
    assert counts["apart"][0] >= 1.8 * counts["apart"][5]


def test_an_adapter_makes_an_exit_right():
    """Kangaroo, PLANTED: an adapter that knows what the other layers would make of a state."""
    model = random_model("Llama", WIDTH, num_hidden_layers=4, eos_token_id=STOP, tie_word_embeddings=False).double()
    model.lm_head.weight.data *= 30
    text, _ = written(model, PROMPT, LENGTH)
    with torch.no_grad():
        after = model.model(torch.tensor([[*PROMPT, *text]]), output_hidden_states=True).hidden_states
        ends = []
        hook = model.model.norm.register_forward_pre_hook(lambda _, given: ends.append(given[0][0]))
        model.model(torch.tensor([[*PROMPT, *text]]))
        hook.remove()

    def adapter(states):
        places = (after[1][0][None, None] - states[:, :, None]).norm(dim=-1).argmin(-1)
        return ends[0][places]

    rates = []
    for each in (adapter, None):
        draft = gl.Draft("exit", layers=1, length=AHEAD, eta=0.0, adapter=each)
        out = gl.generate(model, PROMPT, vocab=VOCAB, max_tokens=LENGTH, close=False, draft=draft)
        assert out.tokens == text
        rates.append(len(text) / out.stats.forwards)
    assert rates[0] >= ENOUGH
    assert rates[1] < 2


def test_the_halves_read_as_the_whole_does():
    """The split reader, against stock forwards: reads ahead, goes back, is selected, with texts of several lengths."""
    model, rng = deep(), np.random.default_rng(1)
    texts = [rng.integers(2, 200, size).tolist() for size in (3, 5, 9)]
    reader = SplitReader(model, texts, 2)
    stock = lambda text: model(torch.tensor([text])).logits[0, -1].detach()  # noqa: E731
    reader.read(texts, [1, 1, 1])
    for turn in range(40):
        if turn % 13 == 12:
            places = rng.permutation(len(texts))[: max(2, len(texts) - (turn > 20))].tolist()
            reader.select(places)
            texts = [list(texts[place]) for place in places]
        drafts = [rng.integers(2, 200, int(rng.integers(0, 4))).tolist() for _ in texts]
        if any(drafts):
            reader.ahead(dict(enumerate(drafts)))
        # what is read agrees with the draft up to some place
        chunks = [[*draft[: int(rng.integers(0, 4))], *rng.integers(2, 200, 2).tolist()] for draft in drafts]
        logits = reader.read(chunks, [1] * len(texts))
        for text, chunk, row in zip(texts, chunks, logits, strict=True):
            text.extend(chunk)
            assert_logits(row, stock(text))
        back = [int(rng.integers(0, 2)) for _ in texts]
        reader.rollback(back)
        texts = [text[: len(text) - count] for text, count in zip(texts, back, strict=True)]


# ------------------------------------------------------------------ changed residuals


@pytest.mark.parametrize("kind", ["Llama", "GPT2", "Gemma3Text"])
@pytest.mark.parametrize("count", COUNT)
def test_changed_residuals_change_no_answer(kind, count):
    """M2R2: EQ with a random transform after each layer."""
    mix = torch.randn(6, 32, 32, generator=torch.Generator().manual_seed(1), dtype=torch.float64) / 6
    make = lambda tree: gl.Draft(  # noqa: E731
        "exit", tree=tree, layers=2, transform=lambda layer, states: states + states @ mix[layer]
    )
    assert same_answers(deep(kind), make, count)[0] > 20


def test_residuals_that_are_ahead_make_an_exit_right():
    """M2R2, PLANTED: a model whose residual goes on in one direction, and a transform that takes two layers' steps in one."""
    model = random_model("Llama", WIDTH, num_hidden_layers=4, eos_token_id=STOP, tie_word_embeddings=False).double()
    model.lm_head.weight.data *= 30
    with torch.no_grad():  # layers 1 and 3 add what the layer before them has added: nothing of their own
        for at in (1, 2, 3):
            for weight in (model.model.layers[at].self_attn.o_proj.weight, model.model.layers[at].mlp.down_proj.weight):
                weight.zero_()
    steps = torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(2), dtype=torch.float64) / 4
    hooks = [
        model.model.layers[at + 1].register_forward_hook(
            lambda _, __, output, at=at: output + torch.tanh(output @ steps[at])
        )
        for at in range(3)
    ]

    def ahead(layer, states):
        assert layer in (0, 1)
        for step in steps[1:] if layer == 1 else ():
            states = states + torch.tanh(states @ step)
        return states

    out = gl.generate(model, PROMPT, vocab=VOCAB, max_tokens=LENGTH, close=False)
    rates = []
    for transform in (ahead, None):
        draft = gl.Draft("exit", layers=2, length=AHEAD, transform=transform)
        drafted = gl.generate(model, PROMPT, vocab=VOCAB, max_tokens=LENGTH, close=False, draft=draft)
        assert drafted.tokens == out.tokens
        rates.append(len(out.tokens) / drafted.stats.forwards)
    for hook in hooks:
        hook.remove()
    assert rates[0] >= ENOUGH
    assert rates[1] < 0.6 * rates[0]


def test_what_an_exit_needs_is_said():
    for model, options, message in (
        (HashModel(1, 2), {"eta": 0.5}, "needs a transformers model with a list of layers"),
        (
            transformers_model("Mamba"),
            {"eta": 0.5, "layers": 1},
            "need a transformers model with a list of layers and a",
        ),
        (deep(), {"eta": 0.5, "layers": 6}, "an exit comes before the last one"),
        (deep(), {"eta": 2.0}, "eta=2.0; it takes a number, from 0 to 1"),
        (deep(), {"eta": 0.5, "layers": "auto"}, "share layers with the target"),
        (deep(), {"eta": 0.0, "tree": "fixed"}, "the drafter SharedExit needs tree='chain'"),
    ):
        with pytest.raises(ValueError, match=message):
            gl.generate(model, [5], vocab=VOCAB, max_tokens=9, draft=gl.Draft("exit", **options))
