"""Ways to verify a tree: attention in two parts, and models whose memory is a state."""

import copy

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.readers.callable import CallableReader
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import open_reader
from grammarlm.decoding.readers.recurrent import RecurrentReader
from grammarlm.published.drafters.rows import Rows
from grammarlm.published.readers import prefix_and_tree
from grammarlm.published.readers.state_space import StateSpaceModel
from grammarlm.published.readers.with_embeddings import with_embeddings
from tests.decoding.random_models import Forwards
from tests.decoding.speculative.draft_models import (
    VOCAB,
    WIDTH,
    HashModel,
    transformers_model,
)
from tests.decoding.speculative.equal_answers import same_answers
from tests.decoding.speculative.state_space import LinearStates
from tests.rounding import assert_logits

torch = pytest.importorskip("torch")

COUNT = [4, pytest.param(60, marks=pytest.mark.proof)]


def random_tree(rng, most=7):
    tree = DraftTree()
    for node in range(int(rng.integers(0, most))):
        tree.add(int(rng.integers(2, 200)), int(rng.integers(-1, node)))
    return tree


def path_of(rng, tree):
    """Some of the nodes on the way to one of the leaves."""
    path = tree.path(int(rng.choice(tree.leaves))) if tree.leaves else []
    return path[: int(rng.integers(0, len(path) + 1))]


# ------------------------------------------------------------------ prefix and tree (LongSpec)


@pytest.fixture
def both():
    """The same model with two implementations of attention."""
    full, split = transformers_model("Llama"), transformers_model("Llama")
    split.set_attn_implementation(prefix_and_tree.register())
    return full, split


def test_two_parts_are_one_attention():
    """LongSpec: against a softmax over all keys at once, for random masks of trees; also where a part has no key."""
    generator = torch.Generator().manual_seed(1)
    normal = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    for before, width in ((0, 4), (1, 1), (9, 5)):
        query, key, value = normal(2, 4, width, 8), normal(2, 2, before + width, 8), normal(2, 2, before + width, 8)
        hidden = torch.rand(2, 1, 1, before, generator=generator) < 0.4
        own = torch.ones(width, width, dtype=torch.bool).tril() & (
            torch.rand(2, 1, width, width, generator=generator) < 0.7
        )
        own = own | torch.eye(width, dtype=torch.bool)
        sees = torch.cat((~hidden.expand(-1, -1, width, -1), own), -1)
        mask = torch.zeros(sees.shape, dtype=torch.float64).masked_fill(~sees, torch.finfo(torch.float64).min)
        found, _ = prefix_and_tree.attention(None, query, key, value, mask, 0.3)
        keys, values = (each.repeat_interleave(2, 1) for each in (key, value))
        whole = torch.softmax(query @ keys.transpose(2, 3) * 0.3 + mask, -1) @ values
        torch.testing.assert_close(found, whole.transpose(1, 2), atol=1e-12, rtol=0)


def test_trees_get_the_same_logits_from_both(both):
    """LongSpec: random trees after texts of several lengths, through rounds of keeping; and against a forward over each path."""
    rng, texts = np.random.default_rng(2), [[5, 6], [7, 8, 9, 10], [11]]
    readers = [open_reader(model, texts, 300) for model in both]
    first = [reader.read(texts, [1] * 3) for reader in readers]
    torch.testing.assert_close(*first, atol=1e-5, rtol=0)
    texts = [list(text) for text in texts]
    for _ in range(12):
        chunks = [rng.integers(2, 200, int(rng.integers(1, 3))).tolist() for _ in texts]
        trees = [random_tree(rng) for _ in texts]
        logits = [reader.read_trees(chunks, [1] * 3, trees) for reader in readers]
        torch.testing.assert_close(*logits, atol=1e-5, rtol=0)
        paths = [path_of(rng, tree) for tree in trees]
        for reader in readers:
            reader.keep(paths)
        at = 0
        for text, chunk, tree, path in zip(texts, chunks, trees, paths, strict=True):
            text.extend(chunk)
            for node in range(len(tree)):
                stock = both[0](torch.tensor([[*text, *tree.tokens_to(node)]])).logits[0, -1]
                assert_logits(logits[1][at + 1 + node], stock)
            at += 1 + len(tree)
            text.extend(tree.tokens[node] for node in path)


@pytest.mark.parametrize("count", COUNT)
def test_two_parts_change_no_answer(both, count):
    """LongSpec: EQ; its draft attends from a few last tokens to all states of the target, here with random weights."""
    generator = torch.Generator().manual_seed(5)
    embed, mix = torch.randn(WIDTH, 32, generator=generator).double(), torch.randn(32, 32, generator=generator).double()

    def ahead(seen, said):
        query = embed[said[:, -4:]].sum(1) @ mix
        return query + torch.softmax(query @ seen.states.T, -1) @ seen.states

    assert same_answers(both[1], lambda tree: gl.Draft(Rows(ahead), tree=tree), count)[0] > 20


def test_sliding_windows_are_refused():
    model = transformers_model("Mistral")
    model.set_attn_implementation(prefix_and_tree.register())
    with pytest.raises(gl.UnsupportedFeature, match="without a sliding window"):
        gl.generate(model, [5, 6], vocab=VOCAB, max_tokens=4)


# ------------------------------------------------------------------ states (STree)


@pytest.mark.parametrize("rounds", [60, pytest.param(2000, marks=pytest.mark.proof)])
def test_a_state_is_as_good_as_reading_again(rounds):
    """STree: chains, trees, rollbacks, selections, each against a reader that reads all texts again."""
    rng, model = np.random.default_rng(3), LinearStates(1, 220)
    texts = [[5, 6], [7, 8, 9, 10], [11]]
    reader, stock = RecurrentReader(model, texts), CallableReader(model.__call__, texts)
    readers = (reader, stock)
    assert isinstance(open_reader(model, texts, 9), RecurrentReader)
    torch.testing.assert_close(*(each.read(texts, [1] * 3) for each in readers), atol=1e-5, rtol=0)
    lengths = [len(text) for text in texts]
    for turn in range(rounds):
        chunks = [rng.integers(2, 200, int(rng.integers(0, 4))).tolist() for _ in lengths]
        chunks[0] = chunks[0] or [3]
        scored = [int(rng.integers(0, len(chunk) + 1)) for chunk in chunks]
        scored[0] = max(scored[0], 1)
        trees = [random_tree(rng) for _ in lengths]
        if turn % 2 and any(trees):
            torch.testing.assert_close(*(each.read_trees(chunks, scored, trees) for each in readers), atol=1e-5, rtol=0)
            paths = [path_of(rng, tree) for tree in trees]
            for each in readers:
                each.keep(paths)
            lengths = [length + len(path) for length, path in zip(lengths, paths, strict=True)]
        else:
            torch.testing.assert_close(*(each.read(chunks, scored) for each in readers), atol=1e-5, rtol=0)
        lengths = [length + len(chunk) for length, chunk in zip(lengths, chunks, strict=True)]
        if turn % 3:
            back = [int(rng.integers(0, min(5, length - 3))) if length > 4 else 0 for length in lengths]
            for each in readers:
                each.rollback(back)
            lengths = [length - count for length, count in zip(lengths, back, strict=True)]
        if turn % 5 == 0:
            places = rng.integers(0, len(lengths), 3).tolist()
            for each in readers:
                each.select(places)
            lengths = [lengths[place] for place in places]


@pytest.mark.parametrize("count", COUNT)
def test_drafts_for_a_state_change_no_answer(count):
    """STree: EQ for chains and trees, with look-ups and draft models."""
    model = LinearStates(2, WIDTH)
    for drafter in ("recycle", HashModel(3, 2), ["copy", HashModel(4, 2)]):
        assert same_answers(model, lambda tree, drafter=drafter: gl.Draft(drafter, tree=tree), count)[0] > 20


class Reads:
    """Counts the ids of texts and the nodes of trees that a state-space model reads."""

    def __init__(self, monkeypatch):
        self.ids = self.nodes = 0
        read, read_trees = StateSpaceModel.read, StateSpaceModel.read_trees

        def counting(model, states, ids, lengths):
            self.ids += int(lengths.sum())
            return read(model, states, ids, lengths)

        def counting_trees(model, states, ids, parents):
            self.nodes += ids.numel()
            return read_trees(model, states, ids, parents)

        monkeypatch.setattr(StateSpaceModel, "read", counting)
        monkeypatch.setattr(StateSpaceModel, "read_trees", counting_trees)


class Second:
    """A draft model whose best token is the target's second best, and the other way round, at about every other place."""

    def __init__(self, model):
        self.model = model

    def __call__(self, ids):
        with torch.no_grad():
            logits = self.model(ids).logits
        values, tokens = logits.topk(2)
        swapped = logits.scatter(-1, tokens, values.flip(-1))
        odd = ((ids + torch.arange(ids.shape[1])) * 2654435761 >> 7) % 2 == 1
        return torch.where(odd[..., None], swapped, logits)


@pytest.mark.parametrize("kind", ["Mamba", "Mamba2"])
def test_a_tree_is_verified_from_one_state(kind, monkeypatch):
    """STree on transformers' models: where the second candidate is often right a tree takes fewer forwards than a chain, and next
    to no ids more than its nodes; a row for each leaf reads its text again for each."""
    model, draft_model = transformers_model(kind), Second(transformers_model(kind))
    options = {"vocab": VOCAB, "max_tokens": 40, "close": False}
    plain = gl.generate(model, [5, 6, 7], **options)
    found, reads = {}, Reads(monkeypatch)
    for tree in ("chain", "fixed"):
        reads.ids = reads.nodes = 0
        widths = (2, 2, 2) if tree == "fixed" else None
        out = gl.generate(model, [5, 6, 7], draft=gl.Draft(draft_model, tree=tree, length=3, widths=widths), **options)
        assert out.tokens == plain.tokens
        found[tree] = out.stats.forwards
        assert reads.ids <= 3 + len(out.tokens)
        assert 0 < reads.nodes <= out.stats.draft_tokens
    assert found["fixed"] < 0.7 * found["chain"]
    by_leaf, forwards = reads.ids + reads.nodes, Forwards(model)
    draft = gl.Draft(draft_model, tree="fixed", length=3, widths=(2, 2, 2))
    assert gl.generate(model, [5, 6, 7], draft=draft, cache="off", **options).tokens == plain.tokens
    assert by_leaf < 0.2 * sum(rows * width for rows, width in forwards.shapes)


@pytest.mark.parametrize("count", COUNT)
@pytest.mark.parametrize("kind", ["Mamba", "Mamba2"])
def test_drafts_for_state_space_models_change_no_answer(kind, count):
    """STree: EQ on transformers' models, against all texts read again."""
    model = transformers_model(kind)
    assert same_answers(model, lambda tree: gl.Draft("recycle", tree=tree), count)[0] > 20


@pytest.mark.parametrize("kind", ["Mamba", "Mamba2"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_other_weights_and_embeddings_in_prompts(kind, dtype):
    """Against a stock forward over embeddings; also of weights in half precision, whose states are kept in single. In fewer bits
    the reader is about as far from float64 with the same weights as the stock forward is."""
    model = transformers_model(kind).to(dtype)
    embedded = torch.randn(3, 32, generator=torch.Generator().manual_seed(4)).to(dtype)
    reader = open_reader(with_embeddings(model, embedded), [[5, WIDTH, WIDTH + 1, WIDTH + 2, 6]], 9)
    logits = reader.read(reader.beginnings, [1])
    known = model.get_input_embeddings()
    entering = torch.cat((known(torch.tensor([5])), embedded, known(torch.tensor([6]))))[None]
    stock = model(inputs_embeds=entering).logits[0, -1:].detach()
    exact = copy.deepcopy(model).double()(inputs_embeds=entering.double()).logits[0, -1:].detach()
    if dtype == torch.float64:
        assert_logits(logits[:, :WIDTH], stock)
    else:
        assert (logits[:, :WIDTH] - exact).norm() < 4 * (stock - exact).norm()
    assert (logits[:, WIDTH:] == -torch.inf).all()


@pytest.mark.parametrize("kind", ["Mamba", "Mamba2"])
def test_long_prompts_are_read_in_pieces(kind):
    """Of lengths around that of a piece, together; against one stock forward of each."""
    model, rng = transformers_model(kind), np.random.default_rng(3)
    texts = [rng.integers(2, 200, length).tolist() for length in (63, 64, 65, 128, 150, 3)]
    reader = open_reader(model, texts, 9)
    logits = reader.read(texts, [1] * len(texts))
    after = reader.read([[5]] * len(texts), [1] * len(texts))
    for number, text in enumerate(texts):
        stock = model(torch.tensor([[*text, 5]])).logits[0, -2:]
        assert_logits(torch.stack([logits[number], after[number]]), stock)
