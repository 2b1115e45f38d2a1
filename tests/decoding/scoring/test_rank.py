"""gl.rank: judged by forwards over whole texts, one for each item."""

import math
import random
import re

import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.scoring.rank import windows
from grammarlm.decoding.scoring.scored_trie import ScoredTrie
from tests.counts import tiers
from tests.decoding.random_models import Forwards, random_model
from tests.decoding.readers.sources import SOURCES, Source
from tests.rounding import LOG_P

WIDTH = 40
VOCAB = gl.Vocabulary([bytes([65 + i]) for i in range(WIDTH - 1)] + [b""], stop_ids=[WIDTH - 1])


def exhaustive(oracle, prompt, item):
    """The log-probability of an item, by a forward over all of it."""
    rows = oracle(prompt, item).double().log_softmax(-1)
    return sum(float(rows[at, token]) for at, token in enumerate(item))


def some_items(choose, count, longest):
    return [[choose.randrange(3, WIDTH) for _ in range(choose.randint(1, longest))] for _ in range(count)]


def checked(found, items, score):
    """A permutation of the items, each with its own figure, best first, equal ones in the order given."""
    assert sorted(one.number for one in found) == list(range(len(items)))
    assert all(one.item == items[one.number] for one in found)
    assert [one.logprob for one in found] == pytest.approx([score(one.item) for one in found], abs=1e-4)
    assert [(-one.logprob, one.number) for one in found] == sorted((-one.logprob, one.number) for one in found)


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "blend"])
@tiers("count", 1, 12)
def test_longer_items_as_one_forward_each_says(name, count, monkeypatch):
    """FIRST: of every kind of model, in one block and in many."""
    source, choose = Source(name), random.Random(name)
    for _ in range(count):
        for block in (1 << 28, 4 * source.width * choose.randint(1, 9)):
            monkeypatch.setattr("grammarlm.decoding.scoring.scored_trie.MOST_BYTES", block)
            prompt = [choose.randrange(5, WIDTH) for _ in range(choose.randint(1, 6))]
            items = [*some_items(choose, 12, 5), [7], [7], [7, 8], [7, 8, 9]]
            vocab = VOCAB if name != "embedded" else gl.Vocabulary.from_tokenizer(gl.load_tiny()[1])
            found = gl.rank(source.model, prompt, items, vocab=vocab)
            checked(found, items, lambda item, prompt=prompt: exhaustive(source.oracle, prompt, item))


def test_single_tokens_cost_one_forward(tokenizer):
    """FIRST: a permutation, sorted by the distribution after the prompt."""
    labels = ["A", "c", "t", "9", "B", "0"]
    model = random_model("Llama", len(tokenizer))
    watched = Forwards(model)
    found = gl.rank(model, "the cat", labels, tokenizer=tokenizer)
    assert len(watched.shapes) == 1
    row = model(torch.tensor([tokenizer("the cat")["input_ids"]])).logits[0, -1].detach().log_softmax(-1)
    scores = {label: float(row[tokenizer(label)["input_ids"][0]]) for label in labels}
    assert [one.item for one in found] == sorted(labels, key=scores.get, reverse=True)
    assert [one.logprob for one in found] == pytest.approx([scores[one.item] for one in found], abs=LOG_P)


def test_what_items_share_is_read_once(monkeypatch):
    """One forward for all, or one for each block, whose rows fit into the bound."""
    source, items = Source("Llama"), some_items(random.Random(3), 60, 6)
    watched = Forwards(source.model)
    gl.rank(source.model, [5, 6, 7], items, vocab=VOCAB)
    inner = {tuple(item[:n]) for item in items for n in range(1, len(item))}
    assert [width for _, width in watched.shapes] == [3, len(inner)]
    watched.shapes.clear()
    most = 16
    monkeypatch.setattr("grammarlm.decoding.scoring.scored_trie.MOST_BYTES", 4 * WIDTH * most)
    gl.rank(source.model, [5, 6, 7], items, vocab=VOCAB)
    assert all(width <= most for _, width in watched.shapes)
    assert len(inner) / most <= len(watched.shapes) - 1 <= math.ceil(len(inner) / (most - 5))


def test_memory_is_bounded_at_a_wide_vocabulary():
    """150 items of 4 tokens, V = 151,000: all rows at once would be 550 MB of logits."""
    width = 151_000
    vocab = gl.Vocabulary([b"a"] * (width - 1) + [b""], stop_ids=[width - 1])
    rows = []

    class Watched(torch.nn.Module):
        def forward(self, ids):
            rows.append(ids.numel())
            return (ids[..., None] % 7 + torch.zeros(width)).float()

    items = [[3 + i % 11, 20 + i, 5, 6] for i in range(150)]
    found = gl.rank(Watched(), [1, 2], items, vocab=vocab)
    assert {one.number for one in found} == set(range(150))
    assert all(count * width * 4 <= 256 << 20 for count in rows)
    assert sum(rows) * width * 4 > 256 << 20


def test_windows_move_from_the_last_items_to_the_first():
    assert windows(5, 5, None) == [(0, 5)]
    assert windows(50, 20, 10) == [(30, 50), (20, 40), (10, 30), (0, 20)]
    assert windows(7, 3, 3) == [(4, 7), (1, 4), (0, 3)]
    assert windows(3, 1, None) == [(2, 3), (1, 2), (0, 1)]
    asked = []

    def prompt(items):
        asked.append(list(items))
        return [len(items)]

    def model(ids):  # larger ids are the better ones
        return torch.arange(float(WIDTH)).expand(*ids.shape, WIDTH)

    items = [[token] for token in (9, 4, 12, 6, 31, 8, 11)]
    found = gl.rank(model, prompt, items, vocab=VOCAB, window=4, stride=2)
    assert [one.item for one in found][:2] == [[31], [12]]  # the best two have come to the front
    assert asked[0] == items[3:]
    assert [len(each) for each in asked] == [4, 4, 4]
    assert sorted(one.number for one in found) == list(range(7))
    whole = gl.rank(model, prompt, items, vocab=VOCAB)
    assert [one.item[0] for one in whole] == [31, 12, 11, 9, 8, 6, 4]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"items": []}, ValueError, "items has no items"),
        ({"items": "abc"}, TypeError, "items is 'abc'; it takes a list of texts"),
        ({"items": [[5], []]}, ValueError, "item 1 is [], which has no tokens"),
        ({"items": [[5], [WIDTH]]}, ValueError, f"item 1 has the id {WIDTH}; the vocabulary has ids from 0 to {WIDTH - 1}"),
        ({"items": [[5], 7]}, TypeError, "item 1 is int: 7"),
        ({"window": 0}, ValueError, "window=0; it takes an integer of 1 or more"),
        ({"window": 2}, TypeError, "window=2 with one prompt; prompt is a function then"),
        ({"stride": 2}, ValueError, "stride=2 without window="),
        ({"prompt": [1, 2].copy, "window": 2, "stride": 3}, ValueError, "stride=3; it takes an integer from 1 to 2"),
        ({"prompt": [[1], [2]]}, TypeError, "prompt is a list of 2 prompts; it takes one"),
        ({"prompt": [WIDTH * 9]}, ValueError, None),
        ({"prompt": lambda items: None}, TypeError, "the prompt is NoneType"),
        ({"vocab": None}, ValueError, "nothing says what the model's token ids mean"),
    ],
)  # fmt: skip
def test_what_cannot_be_ranked_is_said(arguments, kind, message):
    def model(ids):
        if int(ids.max()) >= WIDTH:
            return torch.full((*ids.shape, WIDTH), math.nan)
        return torch.zeros(*ids.shape, WIDTH)

    given = {"prompt": [1], "items": [[5], [6]], "vocab": VOCAB, **arguments}
    with pytest.raises(kind, match=re.escape(message or "the model's logits are no distribution")):
        gl.rank(model, given.pop("prompt"), given.pop("items"), **given)


def test_an_empty_trie_and_one_node():
    trie = ScoredTrie()
    assert trie.add([]) == 0
    assert trie.add([4, 5]) == trie.add([5], trie.add([4])) == 2
