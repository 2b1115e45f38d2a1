"""The card of the embedded models, and pictures in docs/figures: what `benchmarks.models` measured, and the training runs."""

import json
from pathlib import Path
from typing import Any

from benchmarks.report import FIGURES
from grammarlm.models.tiny import FOLDER, KINDS, folder_of
from training.corpus import TASKS, example
from training.export import FACTS, WEIGHTS
from training.tokenizer import CONTEXT, END, VOCABULARY_SIZE

WHAT = {
    "causal": "Llama architecture, 4 layers of width 256, 8 heads, tied embeddings; its loss counts after every layer",
    "draft": "the same with one layer",
    "heads": "four heads behind a layer on the causal model's last states, for the tokens two to five places ahead",
    "features": "one layer that predicts the causal model's next last state",
    "diffusion": "the causal model's shape and first weights, looking both ways; fills in masked tokens, end and padding included",
}
CARD = """\
---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: text-generation
---

# grammarlm tiny

A family of small language models that share one tokenizer, trained on generated text: records, edits, function calls, SQL, sums
and lists. It exists so that grammarlm can be tried and tested offline, with real models. They know nothing about the world and
have no other use.

## Use

```python
import grammarlm as gl

model, tokenizer = gl.load_tiny()
```

`load_tiny(diffusion=True)` loads the diffusion model; in a checkout of grammarlm, which has their weights, `(draft=True)`,
`(heads=True)` and `(features=True)` load the others.

A prompt is one or several lines and a newline; the answer is compact JSON, a query or a number, and the end token `{end}`:

{examples}

## Models

{models}

Stored as float16, the diffusion model's matrices as whole numbers of 8 bits with a step a row; trained in float32 with bfloat16
matrix products. The tokenizer is a byte-level BPE of {vocabulary} tokens that
holds all 256 bytes; every digit is a token. Training rows have up to 512 tokens; {context} are taken, the rest of them untried.

`python -m training.train NAME`, in grammarlm's repository, generates the text while it trains (split "train", seeded).

## Scores

{machine}. Greedy; prompts that no training text has. "easy" is the training text's distribution, "hard" has foreign name pieces,
unseen wordings, or more of everything (`training/corpus/draw.py`). Made by `python -m benchmarks.models`.

{scores}

## What they cannot do

Anything else. Names of unusual pieces, other wordings and longer lists come out wrong in every second text (the hard split measures
it); numbers are copied, sums are right only within a hundred; without its newline a prompt is continued by one.
"""


def write_card(scores: str, machine: str, figures: dict[str, Any]) -> None:
    facts = {
        name: json.loads((folder_of(name) / FACTS).read_text()) for name in KINDS if (folder_of(name) / FACTS).exists()
    }
    card = CARD.format(
        end=END,
        vocabulary=VOCABULARY_SIZE,
        context=CONTEXT,
        examples="\n\n".join(shown(task) for task in TASKS if task != "plain"),
        models=models_table(facts),
        machine=machine,
        scores=scores,
    )
    (FOLDER / "README.md").write_text(card, encoding="utf-8")
    draw_losses({name: fact["losses"] for name, fact in facts.items()}, FIGURES / "models_losses.png")
    draw_scores(figures["answers"], FIGURES / "models.png")


def shown(task: str) -> str:
    one = example("heldout", 0, task)
    return f"{task}:\n\n```\n{one.prompt}{one.answer}\n```"


def models_table(facts: dict[str, dict[str, Any]]) -> str:
    rows = [
        "| model | what it is | parameters | MB | steps | tokens | minutes | loss |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, fact in facts.items():
        megabytes = (folder_of(name) / WEIGHTS).stat().st_size / 1e6
        rows.append(
            f"| {name} | {WHAT[name]} | {fact['parameters']:,} | {megabytes:.1f} | {fact['steps']:,} | {fact['tokens']:,} | "
            f"{fact['minutes']:.0f} | {fact['losses'][-1]:.4f} |"
        )
    return "\n".join(rows)


def draw_losses(losses: dict[str, list[float]], target: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for name, values in losses.items():
        axes.plot([50 * (number + 1) for number in range(len(values))], values, label=name, linewidth=1)
    axes.set(xlabel="step", ylabel="loss on answers", yscale="log")
    axes.legend(frameon=False)
    figure.savefig(target, dpi=110)


def draw_scores(cells: list[dict[str, Any]], target: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    tasks = list(dict.fromkeys(cell["task"] for cell in cells))
    for axes, (split, title) in zip(
        figure.subplots(2, 1, sharex=True), (("heldout", "easy"), ("hard", "hard")), strict=True
    ):
        for offset, constrained in ((-0.2, False), (0.2, True)):
            chosen = [cell for cell in cells if cell["split"] == split and cell["constrained"] == constrained]
            values = [100 * cell["value"] for cell in chosen]
            low = [value - 100 * cell["interval"][0] for value, cell in zip(values, chosen, strict=True)]
            high = [100 * cell["interval"][1] - value for value, cell in zip(values, chosen, strict=True)]
            places = [number + offset for number in range(len(tasks))]
            label = "with the constraint" if constrained else "without"
            axes.bar(places, values, 0.38, yerr=[low, high], capsize=2, label=label)
        axes.set(ylim=(0, 105), ylabel=f"exact, % ({title})")
    axes.set_xticks(range(len(tasks)), tasks)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=2, loc="outside upper right")
    figure.savefig(target, dpi=110)
