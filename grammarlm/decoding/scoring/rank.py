"""rank(): items, best first, by how probable the model finds them after a prompt.

    passages = {"A": "The lamp is steel.", "B": "Lamps, oil, 1890.", "C": "Seven steel lamps."}

    def asked(labels):
        listed = "\\n".join(f"[{label}] {passages[label]}" for label in labels)
        return f"{listed}\\nWhich of these is about an order? ["

    gl.rank(model, asked, list(passages))                           # [Ranked(2, "C", -0.4), Ranked(0, "A", -1.3), ...]
    gl.rank(model, asked, labels, window=20, stride=10)             # 20 of them in a prompt

An item of one token costs nothing beyond the prompt's forward: the distribution after the prompt ranks all of them. Longer ones are
read as a trie (scored_trie.py). No end is counted: an item that another one begins with is at least as probable as that one.

With a window the last `window` items are ranked first; then the window moves towards the front by `stride`, and takes with it the
best of those behind. So the first places are right if the model tells better from worse within a window. Each item keeps the
log-probability that it had in its last window.

Source: FIRST (An Early FIRST Reproduction and Improvements to Single-Token Decoding for Fast Listwise Reranking).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grammarlm.decoding.argument_types import Model, Prompt, Tokenizer
from grammarlm.decoding.arguments import check_integer, is_collection, listed
from grammarlm.decoding.fit import check_positions
from grammarlm.decoding.request import Request, prepare
from grammarlm.decoding.settings import Settings
from grammarlm.errors import brief, suggesting
from grammarlm.vocab.vocabulary import Vocabulary

from .scored_trie import ScoredTrie


@dataclass(frozen=True)
class Ranked:
    """An item, its number among those given, and its log-probability after the prompt."""

    number: int
    item: Any
    logprob: float


@suggesting("rank")
def rank(
    model: Model,
    prompt: Prompt | Callable[[list[Any]], Prompt],
    items: Sequence[Any],
    *,
    tokenizer: Tokenizer = None,
    vocab: Vocabulary | None = None,
    window: int | None = None,
    stride: int | None = None,
) -> list[Ranked]:
    """The items, best first: those that the model finds most probable after the prompt; equal ones in the order given.

    prompt      what gl.generate takes: a text, ids or a conversation; or a function of a list of items that returns it
    items       texts, encoded by the tokenizer as they are, or lists of token ids
    tokenizer, vocab    as in gl.generate
    window      at most so many items in a prompt, which is a function then; None: all
    stride      by how many the window moves; None: half of it

    Forwards: one for each window; where items have several tokens, further ones over what they have in common, so many that their
    logits fit into 256 MB.
    """
    if not is_collection(items):
        raise TypeError(f"items is {brief(items, 60)}; it takes a list of texts or of lists of token ids")
    items = list(items)
    check_integer("window", window, 1, optional=True)
    check_integer("stride", stride, 1, window, optional=True)
    if window is None and stride is not None:
        raise ValueError(f"stride={stride} without window=; it says by how many items a window moves")
    if window is not None and not callable(prompt):
        raise TypeError(f"window={window} with one prompt; prompt is a function then, of the items of a window")
    if not items:
        raise ValueError("items has no items; there is nothing to rank")
    order = list(range(len(items)))
    found: dict[int, float] = {}
    for first, end in windows(len(items), window or len(items), stride):
        chosen = order[first:end]
        asked = prompt([items[number] for number in chosen]) if callable(prompt) else prompt
        scores = scored(model, asked, [items[number] for number in chosen], chosen, tokenizer, vocab)
        found |= dict(zip(chosen, scores, strict=True))
        order[first:end] = sorted(chosen, key=lambda number: (-found[number], number))
    return [Ranked(number, items[number], found[number]) for number in order]


def windows(count: int, size: int, stride: int | None) -> list[tuple[int, int]]:
    """(first, end) of each, from the last items to the first ones."""
    step = stride or max(1, size // 2)
    firsts = [*range(count - size, 0, -step), 0] if count > size else [0]
    return [(first, min(first + size, count)) for first in firsts]


def scored(
    model: Model,
    prompt: Prompt,
    items: Sequence[Any],
    numbers: Sequence[int],
    tokenizer: Tokenizer,
    vocab: Vocabulary | None,
) -> list[float]:
    """The log-probability of each item after the prompt."""
    request = one_prompt(model, prompt, Settings(tokenizer=tokenizer, vocab=vocab, max_tokens=1))
    vocab = request.specs[0].vocab
    ids = [item_ids(item, vocab, f"item {number}") for number, item in zip(numbers, items, strict=True)]
    check_positions(model, request.prompts, max(map(len, ids)))
    trie = ScoredTrie()
    ends = list(map(trie.add, ids))
    log_p = trie.log_p(request.reader())
    return [float(log_p[end]) for end in ends]


def one_prompt(model: Model, prompt: Prompt, settings: Settings) -> Request:
    """Checked and encoded, as generate() does it."""
    request = prepare(model, prompt, settings)
    if request.is_list:
        raise TypeError(f"prompt is a list of {len(request.prompts)} prompts; it takes one")
    return request


def item_ids(item: Any, vocab: Vocabulary, name: str) -> list[int]:
    """The tokens of an item."""
    ids = vocab.encode(item) if isinstance(item, str) else listed(item, name)
    if not ids:
        raise ValueError(f"{name} is {brief(item, 40)}, which has no tokens; it takes a text or token ids")
    outside = next((token for token in ids if not 0 <= token < vocab.size), None)
    if outside is not None:
        raise ValueError(f"{name} has the id {outside}; the vocabulary has ids from 0 to {vocab.size - 1}")
    return ids
