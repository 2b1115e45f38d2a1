"""Exact match: how many held-out records a model writes exactly, character for character, without any constraint."""

from typing import TYPE_CHECKING

from grammarlm.models.corpus import RECORDS, Example, example

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MAX_NEW_TOKENS, BATCH = 96, 50


def exact_match(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", per_kind: int) -> dict[str, float]:
    """The share of exact records by kind, decoded greedily on the first `per_kind` held-out examples of each kind."""
    shares = {}
    for kind in RECORDS:
        examples = [example("heldout", index, kind) for index in range(per_kind)]
        written: list[str] = []
        for start in range(0, per_kind, BATCH):
            written += write_records(model, tokenizer, examples[start : start + BATCH])
        shares[kind] = sum(text == one.answer for text, one in zip(written, examples, strict=True)) / per_kind
    return shares


def write_records(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", examples: list[Example]) -> list[str]:
    """The greedy continuation of each prompt; prompts are padded on the left so that all rows end together."""
    import torch

    inputs = tokenizer([one.prompt for one in examples], return_tensors="pt", padding=True, padding_side="left")
    with torch.inference_mode():
        rows = model.generate(  # type: ignore[operator]
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=MAX_NEW_TOKENS,
            do_sample=False,
        )
    return tokenizer.batch_decode(rows[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
