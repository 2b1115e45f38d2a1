"""Trained drafters, with the embedded models: how much is accepted, and that lossy rules stay within the grammar."""

import copy

import jsonschema
import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.drafters.drafter import Candidates
from grammarlm.decoding.speculative.drafters.heads import Heads
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.models.tiny import folder_of
from grammarlm.published.drafters.fill import Fill
from tests.decoding.speculative.draft_models import STOP, VOCAB, HashModel, transformers_model
from tests.decoding.speculative.equal_answers import same_answers
from tests.rounding import embedded_model
from training.corpus import constraint, example

torch = pytest.importorskip("torch")

ASKED = [example("test", number, task) for task in ("record", "edit", "call") for number in range(3)]
MANY = [(6, "quick"), pytest.param(1000, "proof", marks=pytest.mark.proof)]


@pytest.fixture(scope="module")
def tiny():
    return embedded_model()


@pytest.fixture(scope="module")
def small():
    return embedded_model(draft=True)[0]


def answers(tiny, draft, asked=ASKED, **options):
    model, tokenizer = tiny
    return [
        gl.generate(
            model, each.prompt, tokenizer=tokenizer, max_tokens=192, draft=draft, **constraint(each.form), **options
        )
        for each in asked
    ]


def accepted(outs):
    """Tokens a round, without the first forward of each, which reads a prompt."""
    return sum(out.stats.accepted_tokens for out in outs) / sum(out.stats.forwards - 1 for out in outs)


def assert_valid(outs, asked):
    for each, out in zip(asked, outs, strict=True):
        assert out.finish_reason in ("stop", "closed")
        jsonschema.validate(out.value, constraint(each.form)["schema"])


# ------------------------------------------------------------------ a small sibling (FastDraft)


def test_a_trained_sibling_drafts(tiny, small):
    """FastDraft: at four tokens a draft at least two are accepted a round; and the answers are those without."""
    outs = answers(tiny, gl.Draft(small, length=4))
    assert accepted(outs) >= 2.0
    plain = answers(tiny, None, ASKED[:4])
    assert [out.tokens for out in outs[:4]] == [out.tokens for out in plain]


def padded(model, more):
    """The same model with rows for ids that no tokenizer has, the likeliest of all."""
    wide = copy.deepcopy(model)
    width = wide.get_input_embeddings().weight.shape[0]
    wide.resize_token_embeddings(width + more, mean_resizing=False)
    with torch.no_grad():
        wide.get_input_embeddings().weight[width:] = 3 * wide.get_input_embeddings().weight[:more]
        wide.get_output_embeddings().weight[width:] = 30 * wide.get_output_embeddings().weight[:more]
    return wide


def tokens_and_accepted(tiny, target, draft):
    """Of a few answers by another target, over the same vocabulary."""
    tokenizer = tiny[1]
    outs = [
        gl.generate(
            target,
            tokenizer(each.prompt).input_ids,
            vocab=gl.Vocabulary.from_tokenizer(tokenizer),
            max_tokens=192,
            draft=gl.Draft(draft, length=4),
            **constraint(each.form),
        )
        for each in ASKED[::2]
    ]
    return [out.tokens for out in outs], sum(out.stats.accepted_tokens for out in outs)


@pytest.fixture(scope="module")
def unpadded(tiny, small):
    return tokens_and_accepted(tiny, tiny[0], small)


@pytest.mark.parametrize("which", ["draft", "target", "both"])
def test_padded_widths_are_none_of_a_drafts_business(tiny, small, unpadded, which):
    """FastDraft: rows of padding in the draft, the target or both: the same answers, as many accepted."""
    draft = padded(small, 64) if which != "target" else small
    model = padded(tiny[0], 128) if which != "draft" else tiny[0]
    found = [unpadded, tokens_and_accepted(tiny, model, draft)]
    assert found[0][0] == found[1][0]
    assert found[0][1] > 40
    assert (
        abs(found[0][1] - found[1][1]) <= 4
    )  # a mask that goes over its limit of time, on a busy machine, cuts a draft


# ------------------------------------------------------------------ lenience (DistillSpec)


@pytest.mark.parametrize(("count", "tier"), MANY)
def test_lenience_is_never_invalid(tiny, small, count, tier):
    """DistillSpec, VALID: the rule that takes a draft's token for a good one, sampled; no answer is outside its schema."""
    asked = [example("test", number, ("record", "call")[number % 2]) for number in range(count)]
    draft = gl.Draft(small, length=4, acceptance="lenient")
    assert not draft.is_lossless
    assert_valid(answers(tiny, draft, asked, temperature=1.0, seed=count), asked)


# ------------------------------------------------------------------ heads (Medusa)


def test_trained_heads_draft(tiny):
    """Medusa: the embedded heads in a Cartesian tree; at least 1.8 tokens accepted a round, the answers those without."""
    heads, _ = embedded_model(heads=True)
    outs = answers(tiny, gl.Draft(Heads(heads), tree="fixed", length=4))
    assert accepted(outs) >= 1.8
    chains = answers(tiny, gl.Draft(Heads(heads), length=4))
    assert accepted(outs) > accepted(chains)
    assert [out.tokens for out in outs] == [out.tokens for out in chains]


@pytest.mark.parametrize(("count", "tier"), MANY)
def test_typical_acceptance_is_never_invalid(tiny, count, tier):
    """Medusa, VALID: typical acceptance of the heads' trees, sampled."""
    heads, _ = embedded_model(heads=True)
    asked = [example("test", number, ("record", "call")[number % 2]) for number in range(count)]
    draft = gl.Draft(Heads(heads), tree="fixed", length=4, acceptance="typical")
    outs = answers(tiny, draft, asked, temperature=1.0, seed=count)
    assert_valid(outs, asked)
    assert accepted(outs) > 1


# ------------------------------------------------------------------ a diffusion model (DiffuSpec, DEER)


@pytest.mark.skipif(not folder_of("diffusion").exists(), reason="made by `make train MODEL=diffusion`")
@pytest.mark.parametrize("length", [8, 32])
def test_a_trained_diffusion_model_drafts(tiny, length):
    """DiffuSpec (8), DEER (32): the embedded diffusion model fills in what comes next."""
    model, tokenizer = embedded_model(diffusion=True)
    outs = answers(tiny, gl.Draft(Fill(model, tokenizer.mask_token_id, length=length)))
    assert accepted(outs) >= 1.0
    assert [out.tokens for out in outs[:4]] == [out.tokens for out in answers(tiny, None, ASKED[:4])]


# ------------------------------------------------------------------ the contract of drafters (EasySpec)


class Fuzzed(ModelDrafter):
    """Approximate and never twice the same: the further from its last calibration, the worse. `drawn` calibrates it."""

    def __init__(self, model, calibrates=True):
        super().__init__(model)
        self.rng, self.calibrates, self.off, self.told = np.random.default_rng(1), calibrates, {}, []

    def learn(self, row, tokens):
        self.told.append(("learn", list(tokens)))

    def drawn(self, row, tree, nodes):
        self.told.append(("drawn", [tree.tokens[node] for node in nodes]))
        if self.calibrates:
            self.off[row] = 0

    def after(self, asked, width):
        found = []
        for (growth, _), candidates in zip(asked, super().after(asked, width), strict=True):
            off = self.off[growth.row] = self.off.get(growth.row, 0) + 1
            noise = self.rng.normal(0, 0.2 * off, 0 if candidates.row is None else len(candidates.row))
            row = None if candidates.row is None else candidates.row + noise.astype(np.float32)
            found.append(Candidates(candidates.tokens, candidates.log_p, row))
        return found


@pytest.mark.parametrize("count", [6, pytest.param(60, marks=pytest.mark.proof)])
def test_fuzzed_logits_change_nothing(count):
    """EasySpec: EQ with a draft whose logits are wrong, and other ones each time."""
    model = transformers_model("Llama")
    assert same_answers(model, lambda tree: gl.Draft(Fuzzed(model), tree=tree), count)[1] > 20


def test_a_drafter_is_told_each_round_what_was_drawn():
    """EasySpec: a draft that drifts is calibrated after each round, and without that it is of no use."""
    model, rates = HashModel(5, 3), []
    for calibrates in (True, False):
        drafter = Fuzzed(HashModel(5, 3), calibrates)
        out = gl.generate(
            model,
            [5, 6, 7],
            vocab=VOCAB,
            max_tokens=60,
            close=False,
            draft=gl.Draft(drafter, length=4),
            temperature=1.0,
            seed=1,
        )
        assert (
            out.tokens
            == gl.generate(model, [5, 6, 7], vocab=VOCAB, max_tokens=60, close=False, temperature=1.0, seed=1).tokens
        )
        rates.append(len(out.tokens) / out.stats.forwards)
        learned = [tokens for what, tokens in drafter.told if what == "learn"]
        drawn = [tokens for what, tokens in drafter.told if what == "drawn"]
        assert learned[0] == [5, 6, 7]
        assert [token for tokens in learned[1:] for token in tokens] == [each for each in out.tokens if each < STOP]
        rounds = drawn[1:]
        assert len(rounds) >= out.stats.forwards - 1
        assert all(
            tokens == new[: len(tokens)] and len(tokens) <= len(new)
            for new, tokens in zip(learned[1:], rounds, strict=False)
        )
        assert sum(map(len, drawn)) == out.stats.accepted_tokens
    assert rates[0] > 2 * rates[1]
