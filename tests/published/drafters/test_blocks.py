"""Drafts of several places at once: blocks, and the best path through a lattice that a diffusion model fills in."""

import itertools
import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.draft_tree import MaskTree
from grammarlm.published.drafters.blocks import Blocks
from grammarlm.published.drafters.fill import Fill
from grammarlm.published.trees.lattice import MOST_STEPS, Lattice, best_path
from tests.decoding.planted import Planted, noise
from tests.decoding.speculative.draft_models import GRAMMARS, STOP, VOCAB, WIDTH, HashModel, transformers_model
from tests.decoding.speculative.equal_answers import same_answers
from tests.rounding import embedded_model

torch = pytest.importorskip("torch")

COUNT = [3, pytest.param(60, marks=pytest.mark.proof)]
PROMPT = [5, 6, 7]
MASK = 0  # a special id


def random_blocks(seed):
    model = HashModel(seed, 3)

    def propose(texts, block):
        return [model(torch.tensor([[*text, *range(2, 2 + block)]]))[0, -block:] for text in texts]

    return propose


def fresh(seed, count):
    return np.random.default_rng(seed).permutation(np.arange(130, 257))[:count].tolist()


def planted(text):
    return Planted(noise(WIDTH, deviation=0.3), {tuple(PROMPT): [*text, STOP]})


# ------------------------------------------------------------------ blocks


@pytest.mark.parametrize("kind", ["Llama", "Mamba", "T5"])
@pytest.mark.parametrize("count", COUNT)
def test_random_blocks_change_nothing(kind, count):
    """Falcon, FLASH, GAD: EQ with random blocks."""
    drafted, _ = same_answers(
        transformers_model(kind), lambda tree: gl.Draft(Blocks(random_blocks(2), 3), tree=tree), count
    )
    assert drafted > 20


@pytest.mark.parametrize("tree", gl.Draft.TREES)
def test_blocks_that_are_right(tree):
    """Falcon, PLANTED: two blocks of three a round, and each asked for once."""
    text, asked = fresh(1, 60), []

    def propose(texts, block):
        asked.extend(map(tuple, texts))
        rows = []
        for ids in texts:
            said = len(ids) - len(PROMPT)
            follows = [*text, *[STOP] * block][said : said + block] if text[:said] == ids[3:] else [2] * block
            rows.append(10.0 * torch.eye(WIDTH)[follows])
        return rows

    model = planted(text)
    out = gl.generate(
        model, PROMPT, vocab=VOCAB, max_tokens=80, draft=gl.Draft(Blocks(propose, 3), tree=tree, length=6)
    )
    assert out.tokens == text
    assert len(text) / out.stats.forwards >= 0.9 * 7 * 60 / 67
    assert len(set(asked)) == len(asked)
    if tree == "chain":
        assert len(asked) <= 2 * out.stats.forwards  # six places in two forwards of the draft model


def test_a_block_is_held_to_the_grammar_token_by_token():
    """Falcon: in a block whose places do not know each other, only the tree's valid ways are drafted."""
    trees = []

    class Watching(Blocks):
        def drawn(self, row, tree, nodes):
            trees.append(tree)

    def propose(texts, block):  # "a" or "b" likely everywhere: half of all pairs are forbidden
        row = torch.zeros(WIDTH)
        row[[99, 100]] = torch.tensor([9.0, 8.5])
        return [row.expand(block, -1)] * len(texts)

    model = HashModel(5, 3)
    for tree in gl.Draft.TREES:
        draft = gl.Draft(Watching(propose, 4), tree=tree)
        out = gl.generate(model, PROMPT, vocab=VOCAB, regex="(ab|ba){8}", draft=draft)
        assert re.fullmatch("(ab|ba){8}", out.text)
        assert out.stats.forwards <= (12 if tree == "chain" else 10)
    ways = [tree.tokens_to(node) for tree in trees for node in tree.leaves]
    texts = {bytes(token - 2 for token in way) for way in ways}
    assert all(re.fullmatch(b"[ab]?((ab|ba)*[ab]?)", text) for text in texts)
    assert len(texts) > 4


# ------------------------------------------------------------------ the best path


LANGUAGES = {"(ab|ba|cc)*d": "abcd", "a*b(c|d)*": "abcd", "(a|bc){2,4}": "abcd", "[ab][cd]a?": "abcd"}
LETTERS = [2 + ord(letter) for letter in "abcd"]


def brute_force(lattice, valid, may_end):
    """The best of all paths: complete ones, or ended by stops; else the longest."""
    places = len(lattice.tokens)
    found = []
    for length in range(places + 1):
        for choice in itertools.product(range(lattice.tokens.shape[1]), repeat=length):
            tokens = [int(lattice.tokens[at, rank]) for at, rank in enumerate(choice)]
            if not valid(tokens):
                continue
            worth = sum(lattice.log_p[at, rank] for at, rank in enumerate(choice))
            if length == places:
                found.append((places, worth, tokens))
            elif may_end(tokens):
                found.append((places, worth + lattice.stops[length:].sum(), tokens))
            found.append((length, worth, tokens))
    return max(found, key=lambda each: (each[0], each[1]))


@pytest.mark.parametrize("pattern", LANGUAGES)
def test_the_best_path_is_that_of_brute_force(pattern):
    """DiffuSpec: four candidates at six places; the oracle goes over all paths and asks `re` about each."""
    texts = {
        text
        for length in range(10)
        for text in map("".join, itertools.product("abcd", repeat=length))
        if re.fullmatch(pattern, text)
    }
    prefixes = {text[:end] for text in texts for end in range(7)}
    constraint = gl.compile(gl.Regex(pattern), VOCAB)
    rng = np.random.default_rng(len(pattern))
    spelled = lambda tokens: "".join(chr(token - 2) for token in tokens)  # noqa: E731
    for _ in range(4):
        logits = np.full((6, WIDTH), -30.0)
        logits[:, LETTERS] = rng.normal(0, 2, (6, 4))
        logits[:, STOP] = rng.normal(0, 2, 6)
        lattice = Lattice.of(logits, 4, VOCAB.stop_ids)
        places, worth, tokens = brute_force(
            lattice, lambda tokens: spelled(tokens) in prefixes, lambda tokens: spelled(tokens) in texts
        )
        assert best_path(lattice, constraint.matcher()) == tokens, (places, worth)


def test_the_best_path_with_a_causal_model_is_that_of_brute_force():
    """DiffuSpec's proxy: the log-probabilities of a bigram model are added; free text, four candidates at six places."""
    rng = np.random.default_rng(3)
    pairs = np.log(rng.dirichlet([0.5] * 4, 4))
    causal = lambda token, before: float(pairs[LETTERS.index(before), LETTERS.index(token)])  # noqa: E731
    changed = 0
    for _ in range(5):
        logits = np.full((6, WIDTH), -30.0)
        logits[:, LETTERS] = rng.normal(0, 1, (6, 4))
        lattice = Lattice.of(logits, 4, ())

        def worth(choice, lattice=lattice):
            tokens = [LETTERS[0], *(int(lattice.tokens[at, rank]) for at, rank in enumerate(choice))]
            own = sum(lattice.log_p[at, rank] for at, rank in enumerate(choice))
            return own + sum(causal(token, before) for before, token in itertools.pairwise(tokens))

        best = max(itertools.product(range(4), repeat=6), key=worth)
        found = best_path(lattice, None, causal, LETTERS[0])
        assert found == [int(lattice.tokens[at, rank]) for at, rank in enumerate(best)]
        changed += found != best_path(lattice, None)
    assert changed


def test_long_blocks_take_few_steps(monkeypatch):
    """DEER: 32 places of eight candidates, in JSON and where the places contradict each other: the work is bounded."""
    steps, add = [], MaskTree.add
    monkeypatch.setattr(MaskTree, "add", lambda *given: steps.append(given) or add(*given))
    rng = np.random.default_rng(5)
    text = b'{"name":"abcdef","many":123456,"ok":true}'[:32]
    right = rng.normal(0, 1, (32, WIDTH))
    right[range(32), [byte + 2 for byte in text]] += 12
    wrong = np.full((32, WIDTH), -30.0)
    wrong[:, LETTERS] = rng.normal(0, 1, (32, 4))
    cases = ((right, GRAMMARS["schema"]), (wrong, gl.Regex("(ab|ba){12}(c|d){12}")))
    for logits, grammar in cases:
        lattice = Lattice.of(logits, 8, VOCAB.stop_ids)
        steps.clear()
        assert len(best_path(lattice, gl.compile(grammar, VOCAB).matcher())) >= 31
        assert len(steps) <= 8 * MOST_STEPS


# ------------------------------------------------------------------ diffusion models


def filling(text, prompt=PROMPT, share=1.0):
    """A diffusion model that knows the text, in a share of its positions."""
    rng = np.random.default_rng(1)
    whole = [*prompt, *text, *[STOP] * 40]
    right = rng.random(len(whole)) < share

    def model(ids):
        model.masks.append(int((ids[0] == MASK).sum()))
        logits = torch.zeros(*ids.shape, WIDTH)
        for at in range(ids.shape[1]):
            logits[:, at, whole[at] if right[at] else 2 + at % 90] = 9.0
        return logits

    model.masks = []
    return model


@pytest.mark.parametrize("count", COUNT)
def test_random_diffusion_models_change_nothing(count):
    """DiffuSpec, DEER: EQ with a random model that looks both ways."""
    table = torch.randn(997, WIDTH, generator=torch.Generator().manual_seed(2)) * 3

    def both_ways(ids):
        return table[(ids.sum(1, keepdim=True) * 31 + torch.arange(ids.shape[1])) % 997]

    for length in (6, 32):
        make = lambda tree, length=length: gl.Draft(Fill(both_ways, MASK, length=length), tree=tree)  # noqa: E731
        assert same_answers(transformers_model("Llama"), make, count)[0] > 20


def test_the_embedded_diffusion_network_drafts():
    """DiffuSpec: the class of the embedded diffusion model, here with random weights, for the embedded causal model."""
    from grammarlm.models.network import Network, Shape

    target, tokenizer = embedded_model()
    torch.manual_seed(1)
    network = Network(Shape(target.config.vocab_size, hidden=64, layers=1, causal=False)).eval()
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    asked = {"tokenizer": tokenizer, "schema": schema, "max_tokens": 24}
    draft = gl.Draft(Fill(network, tokenizer.mask_token_id, length=8))
    out = gl.generate(target, "Ada Turing (36) is a writer from London.\n", draft=draft, **asked)
    assert out.tokens == gl.generate(target, "Ada Turing (36) is a writer from London.\n", **asked).tokens
    assert out.stats.draft_tokens > 5


@pytest.mark.parametrize("length", [6, 32])
def test_a_diffusion_model_that_is_right(length):
    """DiffuSpec (6), DEER (32 in one step), PLANTED."""
    text = fresh(2, 100)
    draft = gl.Draft(Fill(filling(text), MASK, length=length))
    out = gl.generate(planted(text), PROMPT, vocab=VOCAB, max_tokens=120, draft=draft)
    assert out.tokens == text
    rounds = 100 / (length + 1) + 2  # it begins with half the length
    assert out.stats.forwards <= rounds / 0.9 + 1
