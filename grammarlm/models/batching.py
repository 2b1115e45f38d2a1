"""Training batches, as a function of the step alone."""

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

from grammarlm.models.corpus import example

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast

BLOCK = 16  # batches drawn together and sorted by length for little padding, then shuffled
SENTENCE_WEIGHT = 0.1  # most of the loss is on the record: it is predictable from the sentence, which is mostly random


def batches(
    tokenizer: "PreTrainedTokenizerFast", first_step: int, steps: int, size: int
) -> Iterator[tuple["torch.Tensor", "torch.Tensor"]]:
    """(ids, weights) for each step from `first_step` on; the weight of a token in the loss is 0 for padding."""
    for block in range(first_step // BLOCK, -(-steps // BLOCK)):
        indices = range(block * BLOCK * size, (block + 1) * BLOCK * size)
        rows = sorted((encode(tokenizer, index) for index in indices), key=lambda row: len(row[0]))
        starts = list(range(0, len(rows), size))
        Random(block).shuffle(starts)
        for number, start in enumerate(starts):
            if first_step <= block * BLOCK + number < steps:
                yield pad(rows[start : start + size], tokenizer.pad_token_id)


def encode(tokenizer: "PreTrainedTokenizerFast", index: int) -> tuple[list[int], list[float]]:
    """One training example as ids, ending with the end token, and the weight of each."""
    text = example("train", index)
    prompt = tokenizer.backend_tokenizer.encode(text.prompt).ids
    answer = [*tokenizer.backend_tokenizer.encode(text.answer).ids, tokenizer.eos_token_id]
    return prompt + answer, [SENTENCE_WEIGHT] * len(prompt) + [1.0] * len(answer)


def pad(rows: list[tuple[list[int], list[float]]], padding: int) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Rows padded on the right to one width: under causal attention nothing before the padding sees it."""
    import torch

    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [padding] * (width - len(ids)) for ids, _ in rows])
    weights = torch.tensor([weights + [0.0] * (width - len(weights)) for _, weights in rows])
    return ids, weights
