"""Each drafter wins where its own mechanism helps, and only there; what it remembers lives in its Draft."""

import json

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.drafters.heads import Heads
from grammarlm.published.drafters.features import Features
from tests.decoding.planted import Planted, noise
from tests.decoding.speculative.draft_models import STOP, VOCAB, WIDTH, HashModel, transformers_model
from tests.rounding import assert_logits

torch = pytest.importorskip("torch")


def fresh(seed, count, low=130, high=257):
    """So many different ids."""
    return np.random.default_rng(seed).permutation(np.arange(low, high))[:count].tolist()


class Requests:
    """Prompts with planted texts, asked for one after the other with one Draft."""

    def __init__(self, texts, prompts=None, rivals=None):
        self.prompts = prompts or [fresh(100 + number, 5, 2, 130) for number in range(len(texts))]
        self.texts = texts
        planted = dict(zip(map(tuple, self.prompts), ([*text, STOP] for text in texts), strict=True))
        base = noise(WIDTH, deviation=0.3) if rivals is None else rivals
        self.model = Planted(base, planted)

    def ask(self, draft):
        """Forwards a token of the last answer."""
        draft = draft if isinstance(draft, gl.Draft) else gl.Draft(draft)
        for prompt, text in zip(self.prompts, self.texts, strict=True):
            out = gl.generate(self.model, prompt, vocab=VOCAB, max_tokens=90, draft=draft)
            assert out.tokens == text
        return out.stats.forwards / (len(text) + 1)


def copied():
    text = fresh(1, 48)
    return Requests([text], [[9, *text, 7]])


def again():
    texts = [fresh(seed, 44) for seed in (2, 3, 4)]
    return Requests([*texts, texts[0]], [fresh(10 + number, 5, 2, 130) for number in range(4)])


def pieces():
    """Windows across earlier texts: nothing that came in one piece."""
    long = fresh(5, 120)
    return Requests([[long[(at + k) % 120] for k in range(44)] for at in (0, 40, 80, 20, 60)])


def edges():
    """A walk over edges that the logits show, never in an order that was there."""
    rng = np.random.default_rng(6)
    nodes = fresh(6, 12)
    after = {a: rng.permutation([b for b in nodes if b != a])[:4].tolist() for a in nodes}
    walk, left = [nodes[0]], {}
    while len(walk) < 70:
        left[walk[-1]] = rng.choice([b for b in after[walk[-1]] if b != left.get(walk[-1])]).item()
        walk.append(left[walk[-1]])

    def rivals(ids):
        logits = torch.zeros(*ids.shape, WIDTH)
        for a, others in after.items():
            logits[..., others] += 11.0 * (ids == a)[..., None]
        return logits

    return Requests([walk], rivals=rivals)


def places():
    """Each token depends on its place alone."""
    text = fresh(7, 60)
    rows = torch.zeros(200, WIDTH)
    for at, token in enumerate([*text, STOP]):
        rows[at + 4, token] = 9.0

    class Places:
        def __call__(self, ids):
            return rows[: ids.shape[1]].expand(len(ids), -1, -1)

    requests = Requests([text], [fresh(8, 5, 2, 130)])
    requests.model = Places()
    return requests


WORK = {"copied": copied, "again": again, "pieces": pieces, "edges": edges, "places": places}
WINS = {
    ("copy", "copied"): 0.4,
    ("suffix", "copied"): 0.4,
    ("suffix", "again"): 0.4,
    ("trigram", "again"): 0.6,
    ("trigram", "pieces"): 0.6,
    ("recycle", "edges"): 0.7,
    ("jacobi", "places"): 0.7,
}
LOSES = [
    ("copy", "again"),
    ("copy", "places"),
    ("suffix", "places"),
    ("trigram", "places"),
    ("recycle", "places"),
    ("jacobi", "copied"),
    ("skeleton", "copied"),
]


@pytest.mark.parametrize(("name", "work"), WINS)
def test_a_drafter_wins_by_its_mechanism(name, work):
    """Aggressive decoding and CopySpec (copy), SuffixDecoding, Token Recycling, ADED (trigram), Jacobi decoding."""
    tree = "fixed" if name == "recycle" else "chain"
    assert WORK[work]().ask(gl.Draft(name, tree=tree)) <= WINS[name, work]


@pytest.mark.parametrize(("name", "work"), LOSES)
def test_and_not_where_that_does_not_help(name, work):
    assert WORK[work]().ask(name) >= 0.8


KEYS = {"customer_reference": 7, "delivery_address_line": "x", "is_gift_wrapped": True, "total_quantity_ordered": 12}
TYPES = {int: "integer", str: "string", bool: "boolean"}
SCHEMA = {
    "type": "object",
    "properties": {key: {"type": TYPES[type(value)]} for key, value in KEYS.items()},
    "required": list(KEYS),
    "additionalProperties": False,
}


@pytest.mark.parametrize("spaced", [False, True])
def test_the_grammar_drafts_what_must_come(spaced):
    """The skeleton of a schema, past white space that is free."""
    text = json.dumps(KEYS) if spaced else json.dumps(KEYS, separators=(",", ":"))
    _, tokenizer = gl.load_tiny()
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    tokens = tokenizer.encode(text)
    model = Planted(lambda ids: torch.zeros(*ids.shape, vocab.size), {(5,): [*tokens, vocab.stop_ids[0]]})
    grammar = gl.JsonSchema(SCHEMA, whitespace="flexible" if spaced else "compact")
    out = gl.generate(model, [5], vocab=vocab, grammar=grammar, max_tokens=len(tokens) + 30, draft="skeleton")
    assert out.tokens == tokens
    assert out.stats.forwards <= 0.6 * len(tokens)


# ------------------------------------------------------------------ trained drafters, with oracle weights


def written(model, prompt, count):
    """What a model writes, and its last hidden states there."""
    out = gl.generate(model, prompt, vocab=VOCAB, max_tokens=count, close=False)
    with torch.no_grad():
        states = model.base_model(torch.tensor([[*prompt, *out.tokens]])).last_hidden_state[0]
    return out.tokens, states


def place_of(states, state):
    return int((states - state).norm(dim=-1).argmin())


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_heads_that_are_right(tree):
    """Medusa, PLANTED: heads that know the text give 0.9 (k + 1) tokens a forward, so places and states are the right ones."""
    model, prompt = transformers_model("Llama"), [5, 6, 7]
    text, states = written(model, prompt, 40)
    ids, table = [*prompt, *text, *[2] * 9], model.lm_head.weight.detach()

    def heads(state):
        place = place_of(states, state)
        return [50 * table[ids[place + ahead]] for ahead in range(2, 6)]

    out = gl.generate(
        model, prompt, vocab=VOCAB, max_tokens=40, close=False, draft=gl.Draft(Heads(heads), tree=tree, length=4)
    )
    assert out.tokens == text
    assert len(out.tokens) / out.stats.forwards >= 0.9 * 5 * 40 / 45


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_heads_that_look_back_and_are_right(tree):
    """Hydra's prefix attention, PLANTED: heads are given the states of all ids that the target has read, and no others."""
    model, prompt = transformers_model("Llama"), [5, 6, 7]
    text, states = written(model, prompt, 40)
    ids, table = [*prompt, *text, *[2] * 9], model.lm_head.weight.detach()

    def heads(given):
        (own,) = given
        assert_logits(own, states[: len(own)])
        made = given.new_zeros(4, *given.shape)
        for ahead in range(2, 6):
            made[ahead - 2, 0, -1] = 50 * table[ids[len(own) - 1 + ahead]]
        return list(made)

    draft = gl.Draft(Heads(heads, attends=True), tree=tree, length=4)
    out = gl.generate(model, prompt, vocab=VOCAB, max_tokens=40, close=False, draft=draft)
    assert out.tokens == text
    assert len(out.tokens) / out.stats.forwards >= 0.9 * 5 * 40 / 45


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_features_that_are_right(tree):
    """EAGLE (FSPAD), PLANTED: a layer that knows the next state."""
    model, prompt = transformers_model("Llama"), [5, 6, 7]
    text, states = written(model, prompt, 40)
    seen = []

    def predict(before, embedded):
        assert before.shape == embedded.shape
        place = place_of(states, before[0, -1])
        expected = model.get_input_embeddings()(torch.tensor([*prompt, *text]))[1 : place + 2]
        seen.append(torch.equal(embedded[0, : len(expected)], expected) if tree == "chain" else True)
        after = states[min(place + 1, len(states) - 1)]
        return torch.cat((before[:, 1:], after[None, None]), 1)

    out = gl.generate(
        model, prompt, vocab=VOCAB, max_tokens=40, close=False, draft=gl.Draft(Features(predict), tree=tree, length=4)
    )
    assert out.tokens == text
    assert all(seen)
    assert len(out.tokens) / out.stats.forwards >= 0.9 * 5 * 40 / 45


def test_trained_drafters_say_what_they_need():
    for drafter in (Heads(lambda state: [state]), Features(lambda states, embedded: states)):
        with pytest.raises(ValueError, match="needs a transformers model"):
            gl.generate(HashModel(1, 2), [5], vocab=VOCAB, max_tokens=5, draft=gl.Draft(drafter))


# ------------------------------------------------------------------ copies with edits


def test_aggressive_decoding_goes_on_after_an_edit():
    """IAD: a near-copy of the prompt with five replaced, two inserted and two missing tokens; four tokens a forward."""
    source = fresh(20, 110, 2, 130)
    text = list(source)
    others = fresh(21, 7)
    for number, at in enumerate((15, 30, 45, 60, 75)):
        text[at] = others[number]
    for at in (90, 22):
        text.insert(at, others.pop())
    for at in (52, 83):
        del text[at]
    requests = Requests([text[:88]], [[9, *source, 7]])
    assert requests.ask("copy") <= 1 / 4
