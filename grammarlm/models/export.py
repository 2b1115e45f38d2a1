"""Writes a trained model as a folder that transformers loads, with a model card of measured facts."""

import json
import os
import platform
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammarlm.models.checkpoint import Run
from grammarlm.models.corpus import RECORDS, example
from grammarlm.models.evaluate import exact_match, write_records
from grammarlm.models.tiny import load_folder
from grammarlm.models.tokenizer import END, PAD

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

CONTEXT = 1024
RECORDS_PER_KIND = 200

CARD = """\
---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: text-generation
---

# grammarlm tiny

A causal language model of {parameters:,} parameters that turns one English sentence into one JSON record. It exists
so that grammarlm can be tried and tested offline, with a real model. It knows nothing about the world and has no
other use.

## Use

```python
import grammarlm as gl

model, tokenizer = gl.load_tiny()
```

A prompt is one sentence and a newline; the answer is a record in compact JSON (no spaces, keys in the order below) and
the end token `{end}`. The model was shown five kinds of record, and plain sentences without one:

{examples}

## Model

Llama architecture, {layers} layers of width {hidden}, {heads} heads, tied embeddings; byte-level BPE of {vocabulary}
tokens that holds all 256 bytes, every digit a token. Stored as float16 ({megabytes:.1f} MB), trained in float32 with
bfloat16 matrix products. Training rows are at most some 80 tokens long: longer contexts are outside of what it has
seen.

It copies names made of pieces that the training text has; names of other pieces, other wordings and other keys come out
partly wrong ("Lovelace" becomes "Lala"). Without the newline it writes the newline first.

## Training

`python -m grammarlm.models.train` generates the text while it trains (`corpus.py`, split "train", seeded) and wrote
this card.

| | |
|---|---|
| steps x examples | {steps:,} x {batch} |
| tokens | {tokens:,} |
| wall time | {minutes:.0f} minutes, {threads} thread(s), shared machine with {cores} CPU cores ({machine}) |
| loss on record tokens, mean of the last {log_every} steps | {loss:.4f} |
| date | {today} |

## Exact match

Greedy decoding without any constraint on the split "heldout"; a record counts when every character is right
({per_kind} records of each kind). Short requests have few wordings, so some prompts also occur in the training text:
the last column counts them.

{scores}
"""


def export(
    model: "LlamaForCausalLM",
    tokenizer: "PreTrainedTokenizerFast",
    out: Path,
    run: Run,
    *,
    batch: int,
    threads: int,
    log_every: int,
) -> dict[str, float]:
    """Writes weights, configs, tokenizer and card into `out`; returns the exact match of the written model, by kind."""
    out.mkdir(parents=True, exist_ok=True)
    write_weights(model, out)
    write_tokenizer(tokenizer, out)
    stored, reloaded = load_folder(out)
    scores = exact_match(stored, reloaded, RECORDS_PER_KIND)
    card = CARD.format(
        end=END,
        examples=sample_records(stored, reloaded),
        megabytes=(out / "model.safetensors").stat().st_size / 1e6,
        per_kind=RECORDS_PER_KIND,
        scores=score_table(scores, prompts_seen(run.step * batch)),
        **model_facts(stored),
        **run_facts(run),
        batch=batch,
        threads=threads,
        log_every=log_every,
    )
    (out / "README.md").write_text(card, encoding="utf-8")
    return scores


def model_facts(model: "LlamaForCausalLM") -> dict[str, Any]:
    config = model.config
    return {
        "parameters": model.num_parameters(),
        "layers": config.num_hidden_layers,
        "hidden": config.hidden_size,
        "heads": config.num_attention_heads,
        "vocabulary": config.vocab_size,
    }


def run_facts(run: Run) -> dict[str, Any]:
    return {
        "steps": run.step,
        "tokens": run.tokens,
        "minutes": run.seconds / 60,
        "loss": run.losses[-1],
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "today": date.today().isoformat(),
    }


def write_weights(model: "LlamaForCausalLM", out: Path) -> None:
    """float16 halves the file; at this size the exact match does not change."""
    import copy

    copy.deepcopy(model).half().save_pretrained(out)


def write_tokenizer(tokenizer: "PreTrainedTokenizerFast", out: Path) -> None:
    """Not by `save_pretrained`, which writes the name of a class that only one major version of transformers knows."""
    tokenizer.backend_tokenizer.save(str(out / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "eos_token": END,
        "padding_side": "right",
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
    }
    (out / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def sample_records(model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast") -> str:
    """The first held-out example of each kind with the model's answer, right or wrong."""
    examples = [example("heldout", 0, kind) for kind in RECORDS]
    answers = write_records(model, tokenizer, examples)
    blocks = []
    for one, answer in zip(examples, answers, strict=True):
        verdict = "exact" if answer == one.answer else f"wrong, the record is `{one.answer}`"
        blocks.append(f"{one.kind} ({verdict}):\n\n```\n{one.prompt}{answer}\n```")
    return "\n\n".join(blocks)


def prompts_seen(trained_examples: int) -> dict[str, float]:
    """The share of the evaluated prompts, by kind, that also occur in the training text."""
    trained = {example("train", index).prompt for index in range(trained_examples)}
    return {
        kind: sum(example("heldout", index, kind).prompt in trained for index in range(RECORDS_PER_KIND))
        / RECORDS_PER_KIND
        for kind in RECORDS
    }


def score_table(scores: dict[str, float], seen: dict[str, float]) -> str:
    rows = [f"| {kind} | {100 * share:.1f} % | {100 * seen[kind]:.1f} % |" for kind, share in scores.items()]
    mean, mean_seen = (sum(shares.values()) / len(shares) for shares in (scores, seen))
    rows.append(f"| all | {100 * mean:.1f} % | {100 * mean_seen:.1f} % |")
    return "\n".join(["| kind | exact | prompt also in training |", "|---|---|---|", *rows])
