"""Draft models beside what is no text, or after prompts of their own: embeddings in prompts, shorter contexts, transfer."""

import math
import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.loop import row as row_module
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.published.drafters.blocks import Blocks
from grammarlm.published.drafters.features import Features
from grammarlm.published.drafters.transfer import Transfer, transferred
from grammarlm.published.readers.with_embeddings import with_embeddings
from tests.decoding.enumeration import outcomes
from tests.decoding.planted import Planted, noise
from tests.decoding.random_models import random_model
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH, HashModel, prompts, transformers_model
from tests.decoding.speculative.equal_answers import same_answers
from tests.rounding import assert_logits

torch = pytest.importorskip("torch")

COUNT = [3, pytest.param(60, marks=pytest.mark.proof)]
IMAGE = 12  # embeddings of one
FIRST = WIDTH  # their ids begin there
LENGTH, AHEAD = 40, 4
ENOUGH = 0.9 * (AHEAD + 1) * LENGTH / (LENGTH + AHEAD)


def vectors(count, seed):
    return torch.randn(count, 32, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


IMAGES = vectors(3 * IMAGE, 1)


def with_image(number, before=(7, 8), after=(9,)):
    return [*before, *range(FIRST + number * IMAGE, FIRST + (number + 1) * IMAGE), *after]


def illustrated(count, seed):
    """Prompts with images at different places, and one without."""
    texts = prompts(count, seed)
    return [[*text[:2], *with_image(at % 3, (), ()), *text[2:]] if at != 1 else text for at, text in enumerate(texts)]


def small_draft(embedded):
    """Another model with random weights, and embeddings of its own."""
    return with_embeddings(transformers_model("Qwen2"), embedded)


def compressed(ids):
    """A vision adaptor: of an image's embeddings only every sixth."""
    return [token for token in ids if token < FIRST or (token - FIRST) % 6 == 0]


# ------------------------------------------------------------------ embeddings in a prompt


@pytest.mark.parametrize("kind", ["Llama", "GPT2", "Qwen2", "Mistral", "Gemma3Text"])
def test_embeddings_in_prompts_are_read_as_transformers_reads_them(kind):
    """MSD: stock generate() with inputs_embeds writes the same; in a batch each prompt as alone."""
    plain = transformers_model(kind)
    model = with_embeddings(plain, IMAGES)
    asked = [with_image(0), with_image(2, (5,), (4, 3)), [5, 6], [*with_image(1), *with_image(0)]]
    options = {"vocab": VOCAB, "max_tokens": 12, "close": False}
    table = torch.cat((plain.get_input_embeddings()(torch.arange(WIDTH)), IMAGES))
    together = gl.generate(model, asked, **options)
    for ids, out in zip(asked, together, strict=True):
        stock = plain.generate(
            inputs_embeds=table[torch.tensor([ids])], max_new_tokens=12, do_sample=False, pad_token_id=0
        )
        said = stock[0].tolist()
        assert out.tokens == (said[: said.index(STOP)] if STOP in said else said)
        assert gl.generate(model, ids, **options).tokens == out.tokens


@pytest.mark.parametrize("count", COUNT)
def test_drafts_after_embeddings_change_nothing(count):
    """MSD: EQ; draft models, features and look-ups with random weights, after prompts with images."""
    model = with_embeddings(transformers_model("Llama"), IMAGES)
    mix = vectors(64, 5).T

    def predict(states, embedded):
        return torch.tanh(torch.cat((states, embedded), -1) @ mix.T)

    for drafter in (lambda: small_draft(vectors(36, 3)), lambda: Features(predict), lambda: ["copy", "recycle"]):
        make = lambda tree, drafter=drafter: gl.Draft(drafter(), tree=tree)  # noqa: E731
        assert same_answers(model, make, count, asked=illustrated)[0] > 20


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_a_draft_sees_the_embeddings(tree):
    """MSD, PLANTED: a draft that reads the image too agrees; one that reads another image does not."""
    plain = transformers_model("Llama")
    model = with_embeddings(plain, IMAGES)
    rates = []
    for embedded in (IMAGES, vectors(36, 9)):
        draft = gl.Draft(with_embeddings(plain, embedded), tree=tree, length=AHEAD)
        out = gl.generate(
            model, with_image(0), vocab=VOCAB, max_tokens=LENGTH, close=False, draft=draft, temperature=1.0, seed=1
        )
        rates.append(len(out.tokens) / out.stats.forwards)
    assert (
        rates[0] >= (0.85 if tree == "best_first" else 1) * ENOUGH
    )  # the likeliest nodes are not always the ones drawn
    assert rates[1] < 0.6 * rates[0]


# ------------------------------------------------------------------ contexts of the draft's own


class Watching:
    """A model that remembers the ids it was given."""

    def __init__(self, model):
        self.model, self.seen = model, []

    def __call__(self, ids):
        self.seen += ids.tolist()
        return self.model(ids)


@pytest.mark.parametrize("count", COUNT)
def test_another_context_changes_nothing(count):
    """ViSpec, RAPID without transfer: EQ where the draft reads a shorter prompt."""
    model = with_embeddings(transformers_model("Llama"), IMAGES)
    drafts = (
        lambda tree: gl.Draft(small_draft(vectors(36, 3)), tree=tree, context=compressed),
        lambda tree: gl.Draft(HashModel(3, 2), tree=tree, context=lambda ids: [9, *ids[-1:]]),
    )
    for make in drafts:
        assert same_answers(model, make, count, asked=illustrated)[0] > 20


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_the_positions_of_a_shorter_context_are_its_own(tree):
    """ViSpec, PLANTED: the draft knows the text after its own prompt; it never sees the target's."""
    text = np.random.default_rng(1).permutation(np.arange(100, 257))[:LENGTH].tolist()
    prompt = [5, *range(200, 256), 6]
    target = Planted(noise(WIDTH, deviation=0.3), {tuple(prompt): [*text, STOP]})
    own = [5, 201, 202, 6]
    small = Watching(Planted(noise(WIDTH, seed=2, deviation=0.3), {tuple(own): [*text, STOP]}))
    draft = gl.Draft(small, tree=tree, length=AHEAD, context=lambda ids: own)
    out = gl.generate(target, prompt, vocab=VOCAB, max_tokens=LENGTH + 5, draft=draft)
    assert out.tokens == text
    assert len(text) / out.stats.forwards >= ENOUGH
    assert all(ids[:4] == own and len(ids) <= 4 + LENGTH + AHEAD for ids in small.seen)


def test_blocks_after_embeddings_that_are_right():
    """FLASH, PLANTED: blocks of three from a draft that knows the text after its own, compressed prompt."""
    model, prompt = with_embeddings(transformers_model("Llama"), IMAGES), with_image(1)
    own = compressed(prompt)
    assert len(own) == 5
    asked = {"vocab": VOCAB, "max_tokens": LENGTH, "close": False}
    text = gl.generate(model, prompt, **asked).tokens

    def propose(texts, block):
        rows = []
        for ids in texts:
            assert ids[:5] == own
            follows = [*text, *[2] * 9][len(ids) - 5 :][:block] if ids[5:] == text[: len(ids) - 5] else [2] * block
            rows.append(10.0 * torch.eye(WIDTH)[follows])
        return rows

    draft = gl.Draft(Blocks(propose, 3, context=compressed), length=6)
    out = gl.generate(model, prompt, draft=draft, **asked)
    assert out.tokens == text
    assert len(text) / out.stats.forwards >= 0.9 * 7 * len(text) / (len(text) + 6)
    *_, end = gl.stream(model, prompt, draft=draft, **asked)
    assert (end.result.tokens, end.result.stats.forwards) == (text, out.stats.forwards)


# ------------------------------------------------------------------ what a drafter may learn from


class Distilling(NodeDrafter):
    """A bigram model that takes a step of cross-entropy towards what the target says, each time it has been asked."""

    length = AHEAD

    def __init__(self):
        self.table, self.seen = np.zeros((WIDTH, WIDTH), np.float32), []

    def observe(self, row, tree, before, logits):
        self.seen.append(([*row.ids[: len(row.ids)]], list(before), logits.copy(), list(tree.parents)))
        for token, target in zip(before, softmax(logits), strict=True):
            self.table[token] += 8 * (target[:WIDTH] - softmax(self.table[token]))

    def after(self, asked, width):
        found = []
        for growth, node in asked:
            last = growth.ids[-1] if node < 0 else growth.tree.tokens[node]
            masked = growth.masked(self.table[last], node)
            found.append(Candidates((), ()) if masked is None else Candidates((), (), masked))
        return found


def softmax(logits):
    scaled = np.exp(logits - logits.max(-1, keepdims=True))
    return scaled / scaled.sum(-1, keepdims=True)


def test_a_drafter_learns_from_the_targets_own_logits():
    """SpecVLM: the logits that arrive are those before the mask, of each id and node, as a stock forward has them."""
    model = with_embeddings(transformers_model("Llama"), IMAGES)
    drafter = Distilling()
    out = gl.generate(model, with_image(0), vocab=VOCAB, regex="[a-h]{30}", draft=gl.Draft(drafter, tree="chain"))
    assert re.fullmatch("[a-h]{30}", out.text)
    checked = 0
    for ids, before, logits, parents in drafter.seen:
        nodes = before[len(before) - len(parents) :]
        with torch.no_grad():
            stock = model(torch.tensor([[*ids, *nodes]])).logits[0, -len(before) :]
        assert (logits[:, WIDTH:] == -np.inf).all()  # what stands for an image is never written
        assert_logits(torch.from_numpy(logits[:, :WIDTH]), stock[:, :WIDTH])
        assert np.isfinite(logits[:, 200]).all()  # no byte of the grammar
        checked += len(logits)
    assert checked > 30


# ------------------------------------------------------------------ transfer

LETTERS = gl.Vocabulary([b"a", b"b", b"c", b"</s>"], stop_ids=[3], special_ids=[3])
TEXTS = ["ab", "abc", "b", "bc", "bbc", "ca"]


def mixed_law(target, draft, rate, warmth):
    """Of each text its probability, one token after the other, from the rows that both models have after their own prompts."""
    found = {}
    for text in TEXTS:
        chance, said = 1.0, []
        for token in [*(ord(letter) - ord("a") for letter in text), 3]:
            z, y = (model(torch.tensor([[*own, *said]]))[0, -1] for model, own in ((target, [1, 2, 0]), (draft, [0])))
            logits = transferred(z, y, rate, warmth).double().numpy() / warmth
            prefix = "".join(chr(97 + each) for each in said)
            allowed = [any(each.startswith(prefix + chr(97 + each_token)) for each in TEXTS) for each_token in range(3)]
            allowed.append(prefix in TEXTS)
            weights = [math.exp(logit) if may else 0.0 for logit, may in zip(logits, allowed, strict=True)]
            chance *= weights[token] / math.fsum(weights)
            said.append(token)
        found[text] = chance
    return found


@pytest.mark.parametrize("tree", ["chain", "fixed"])
@pytest.mark.parametrize(("rate", "temperature"), [(0.0, 1.0), (3.0, 1.0), (2.0, 0.7)])
def test_the_law_with_transfer_is_the_mixed_targets(rate, temperature, tree, monkeypatch):
    """RAPID, LAW: every way that the draws of the whole loop can go, with its probability; rate 0 is the target itself."""
    target, draft = HashModel(1, None, 4), HashModel(2, None, 4)

    def run(choices):
        def enumerated(logits, sampling, position, mass=None):
            scaled = logits.astype(np.float64) / sampling.temperature
            weights = np.exp(scaled - scaled.max())
            chances = weights / math.fsum(weights)
            token = choices.among(chances.tolist())
            return token, math.log(chances[token])

        monkeypatch.setattr(row_module, "draw", enumerated)
        helper = gl.Draft(draft, tree=tree, length=2, context=lambda ids: ids[-1:], transfer=rate)
        assert helper.is_lossless == (rate == 0)
        return gl.generate(
            target, [1, 2, 0], vocab=LETTERS, choices=TEXTS, draft=helper, temperature=temperature, seed=1, forced="off"
        ).text

    found = dict.fromkeys(TEXTS, 0.0)
    for probability, text in outcomes(run):
        found[text] += probability
    expected = mixed_law(target, draft, rate, temperature)
    assert found == pytest.approx(expected, abs=1e-12)
    other = mixed_law(target, draft, 0.0 if rate else 3.0, temperature)
    assert max(abs(found[text] - other[text]) for text in TEXTS) > 0.01


def test_transfer_needs_no_draft_of_the_same_width_and_is_refused_below_zero():
    with pytest.raises(ValueError, match="transfer=-1; it takes a number, 0 or more"):
        gl.Draft(HashModel(1, 2), transfer=-1)
    wide = random_model("Llama", WIDTH + 40)
    out = gl.generate(
        transformers_model("Llama"),
        [5, 6],
        vocab=VOCAB,
        regex="[a-h]{20}",
        draft=gl.Draft(Transfer(wide, transfer=0.5)),
    )
    assert re.fullmatch("[a-h]{20}", out.text)
