"""Training batches, as a function of (block, number) alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import torch

from training.corpus import example

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

BLOCK = 1024  # examples drawn together and sorted by length for little padding
LONGEST = 512


@dataclass(frozen=True)
class Batch:
    """Rows padded on the right to one width."""

    ids: torch.Tensor  # [rows, width]
    answer: torch.Tensor  # [rows, width]: whether a token is one of the answer, its end token included
    padding: torch.Tensor  # [rows, width]
    pad: int
    seed: int  # for what a loss draws


def batches(
    tokenizer: "PreTrainedTokenizerFast", block: int, number: int, tokens: int
) -> Iterator[tuple[int, int, Batch]]:
    """(block, number, batch) from batch `number` of a block on, for ever; a batch has at most so many tokens, padding included."""
    while True:
        drawn = block_batches(tokenizer, block, tokens)
        for each in range(number, len(drawn)):
            yield block, each, drawn[each]
        block, number = block + 1, 0


def block_batches(tokenizer: "PreTrainedTokenizerFast", block: int, tokens: int) -> list[Batch]:
    rows = sorted(
        (encode(tokenizer, index) for index in range(block * BLOCK, (block + 1) * BLOCK)), key=lambda row: len(row[0])
    )
    groups: list[list[tuple[list[int], int]]] = [[]]
    for row in rows:
        if len(row[0]) > LONGEST:
            continue
        if (len(groups[-1]) + 1) * len(row[0]) > tokens:
            groups.append([])
        groups[-1].append(row)
    Random(block).shuffle(groups)
    return [pad(group, tokenizer.pad_token_id, seed=block * BLOCK + number) for number, group in enumerate(groups)]


def encode(tokenizer: "PreTrainedTokenizerFast", index: int) -> tuple[list[int], int]:
    """One training example as ids, ending with the end token, and where its answer begins."""
    text = example("train", index)
    prompt = tokenizer.backend_tokenizer.encode(text.prompt).ids
    answer = tokenizer.backend_tokenizer.encode(text.answer).ids
    return [*prompt, *answer, tokenizer.eos_token_id], len(prompt)


def pad(rows: list[tuple[list[int], int]], padding: int, seed: int) -> Batch:
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([row + [padding] * (width - len(row)) for row, _ in rows])
    starts, lengths = torch.tensor([[start] for _, start in rows]), torch.tensor([[len(row)] for row, _ in rows])
    columns = torch.arange(width)[None, :]
    return Batch(ids, (columns >= starts) & (columns < lengths), columns >= lengths, padding, seed)
