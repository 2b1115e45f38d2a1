"""Texts of unequal length share a forward: what a batch costs is what its longest answer costs by itself."""

from functools import reduce

import pytest

import grammarlm as gl
from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.request import prepare
from grammarlm.decoding.settings import Settings
from grammarlm.decoding.tree.branches import Branches
from grammarlm.decoding.tree.text_node import TextNode
from tests.decoding.random_models import Forwards, random_model

torch = pytest.importorskip("torch")

# After the same number of choices each answer has another number of tokens that the model has not read.
PATTERNS = [
    r"[01]a long name of a field[01]",
    r"[01][01]another long name of one, longer than that[01]",
    r"[01][01][01][01][01][01]",
    r"(yes|no), certainly",
]


@pytest.mark.parametrize("kind", ["Llama", "GPT2"])
def test_a_batch_takes_as_many_forwards_as_its_longest_answer(kind, tokenizer):
    model = random_model(kind, len(tokenizer), **({"n_embd": 32, "n_layer": 2, "n_head": 4} if kind == "GPT2" else {}))
    prompts = ["the cat", "a", "the hat and the cat in a 100 year old café", "2024"]
    options = {"tokenizer": tokenizer, "max_tokens": 60, "temperature": 1.0, "seed": 2}
    forwards = Forwards(model)
    alone = [
        gl.generate(model, prompt, regex=pattern, **options) for prompt, pattern in zip(prompts, PATTERNS, strict=True)
    ]
    forwards.shapes.clear()
    together = gl.generate(model, prompts, regex=PATTERNS, **options)
    assert [one.tokens for one in together] == [one.tokens for one in alone]
    assert [one.stats.forwards for one in together] == [one.stats.forwards for one in alone]
    assert len(forwards.shapes) == max(one.stats.forwards for one in alone)
    assert max(one.stats.forced_tokens for one in together) > 20  # which forwards of others have read


def test_a_tree_reads_what_its_texts_do_not_share(tokenizer):
    model = random_model("Llama", len(tokenizer))
    branches = Branches(prepare(model, [[5, 6, 7]], Settings(tokenizer=tokenizer, max_tokens=9)), Sampling())
    forwards = Forwards(model)
    for texts in ([()], [(7,)], [(7, 8), (9,)], [(7,)], [(7, 8, 5), (9, 4)], [(7, 8, 5, 3), (9,), (9, 4, 4, 4)]):
        branches.steps([reduce(TextNode.child, tokens, TextNode(0)) for tokens in texts])
    assert forwards.shapes == [(1, 3), (1, 1), (2, 1), (1, 1), (2, 2), (3, 2)]
