"""Train the embedded model from nothing: `python -m grammarlm.models.train --out grammarlm/models/tiny`.

The text is generated while the training goes on (`corpus.py`), so no example comes twice and nothing is downloaded. A batch is
a function of (step, batch size) alone and a checkpoint holds the model and both optimizers: `--resume` goes on where a run
stopped. The learning rate rises, stays, and falls in a line over the last third, so that a run may also be resumed with
another number of steps as long as the fall has not begun.

Two choices make it quick on a CPU. Matrices are trained with Muon (their updates are made orthogonal), the embedding and the
norms with AdamW. And most of the loss is on the record: the sentence is mostly chance, the record can be known.
"""

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from grammarlm.models.corpus import example
from grammarlm.models.tokenizer import train_tokenizer

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

BLOCK = 16  # batches drawn together and sorted by length: little padding, and still in random order
SENTENCE_WEIGHT = 0.1
MAX_GRADIENT_NORM = 1.0


@dataclass(frozen=True)
class Settings:
    steps: int
    batch: int = 48
    matrix_rate: float = 0.02
    other_rate: float = 3e-3
    weight_decay: float = 0.01
    warm_up: int = 200
    fall: float = 0.35  # the last part of the run, in which the learning rate falls to zero
    hidden: int = 192
    layers: int = 4
    seed: int = 0


@dataclass
class Run:
    """What a checkpoint holds besides weights and optimizers."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    losses: list[float] = field(default_factory=list)  # mean loss on record tokens, one for each LOG_EVERY steps


LOG_EVERY = 50


def build_model(tokenizer: "PreTrainedTokenizerFast", settings: Settings) -> "LlamaForCausalLM":
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(settings.seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden,
        intermediate_size=settings.hidden * 8 // 3,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.hidden // 32,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


def batches(
    tokenizer: "PreTrainedTokenizerFast", settings: Settings, first_step: int
) -> Iterator[tuple["torch.Tensor", "torch.Tensor"]]:
    """(ids, weights) of each step from `first_step` on; a token's weight is how much predicting it counts, 0 for padding."""
    for block in range(first_step // BLOCK, -(-settings.steps // BLOCK)):
        rows = [encode(tokenizer, index) for index in range(block * BLOCK * settings.batch, (block + 1) * BLOCK * settings.batch)]
        rows.sort(key=lambda row: len(row[0]))
        starts = list(range(0, len(rows), settings.batch))
        Random(block).shuffle(starts)
        for number, start in enumerate(starts):
            if first_step <= block * BLOCK + number < settings.steps:
                yield pad(rows[start : start + settings.batch], tokenizer.pad_token_id)


def encode(tokenizer: "PreTrainedTokenizerFast", index: int) -> tuple[list[int], list[float]]:
    """One example as ids ending with the end token, and the weight of each."""
    text = example("train", index)
    prompt = tokenizer.backend_tokenizer.encode(text.prompt).ids
    answer = [*tokenizer.backend_tokenizer.encode(text.answer).ids, tokenizer.eos_token_id]
    return prompt + answer, [SENTENCE_WEIGHT] * len(prompt) + [1.0] * len(answer)


def pad(rows: list[tuple[list[int], list[float]]], padding: int) -> tuple["torch.Tensor", "torch.Tensor"]:
    import torch

    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [padding] * (width - len(ids)) for ids, _ in rows])
    weights = torch.tensor([weights + [0.0] * (width - len(weights)) for _, weights in rows])
    return ids, weights


def losses(
    model: "LlamaForCausalLM", ids: "torch.Tensor", weights: "torch.Tensor"
) -> tuple["torch.Tensor", "torch.Tensor"]:
    """The weighted loss to descend, and the mean loss on record tokens to look at."""
    import torch

    hidden = model.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
    counted = weights[:, 1:] > 0
    each = torch.nn.functional.cross_entropy(
        model.lm_head(hidden[counted]).float(), ids[:, 1:][counted], reduction="none"
    )
    weight = weights[:, 1:][counted]
    return (each * weight).sum() / weight.sum(), each[weight == 1.0].mean()


def build_optimizers(model: "LlamaForCausalLM", settings: Settings) -> "list[torch.optim.Optimizer]":
    """Muon for the matrices inside the layers, AdamW for the embedding (shared with the output) and the norms."""
    import torch

    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    if os.environ.get("AB") == "adamw":
        return [torch.optim.AdamW(model.parameters(), lr=float(os.environ["LR"]), betas=(0.9, 0.98), weight_decay=settings.weight_decay)]
    return [
        torch.optim.Muon(inner, lr=settings.matrix_rate, weight_decay=settings.weight_decay),
        torch.optim.AdamW(others, lr=settings.other_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def rate(step: int, settings: Settings) -> float:
    """The factor of the learning rate at a step: up, level, down."""
    up = (step + 1) / settings.warm_up
    down = (settings.steps - step) / max(1, settings.fall * settings.steps)
    return min(1.0, up, down)


def train(model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast", settings: Settings, folder: Path, resume: bool) -> Run:
    """Train up to `settings.steps`, with a checkpoint every CHECKPOINT_EVERY steps and at the end."""
    import torch
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    optimizers = build_optimizers(model, settings)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["full_rate"] = group["lr"]
    run = load_checkpoint(folder, model, optimizers) if resume else Run()
    columns = (TextColumn("loss {task.fields[loss]:.3f}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("training", total=settings.steps, completed=run.step, loss=float("nan"))
        recent: list[float] = []
        clock = time.perf_counter()
        for ids, weights in batches(tokenizer, settings, run.step):
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = group["full_rate"] * rate(run.step, settings)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss, record_loss = losses(model, ids, weights)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT_NORM)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
            run.step += 1
            run.tokens += int((weights > 0).sum())
            recent.append(record_loss.item())
            now = time.perf_counter()
            run.seconds, clock = run.seconds + now - clock, now
            progress.update(bar, advance=1, loss=recent[-1])
            if run.step % LOG_EVERY == 0:
                run.losses.append(sum(recent) / len(recent))
                recent.clear()
                progress.console.print(f"step {run.step} loss {run.losses[-1]:.4f} after {run.seconds:.0f} s")
            if run.step % CHECKPOINT_EVERY == 0 or run.step == settings.steps:
                save_checkpoint(folder, model, optimizers, run)
    return run


CHECKPOINT_EVERY = 250


def save_checkpoint(folder: Path, model: "LlamaForCausalLM", optimizers: "list[torch.optim.Optimizer]", run: Run) -> None:
    """Write beside the old checkpoint and rename, so that a stop at any moment leaves a whole file."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Any] = {"model": model.state_dict(), "optimizers": [o.state_dict() for o in optimizers], "run": asdict(run)}
    torch.save(parts, folder / "checkpoint.new")
    os.replace(folder / "checkpoint.new", folder / "checkpoint.pt")


def load_checkpoint(folder: Path, model: "LlamaForCausalLM", optimizers: "list[torch.optim.Optimizer]") -> Run:
    import torch

    parts = torch.load(folder / "checkpoint.pt", weights_only=True)
    model.load_state_dict(parts["model"])
    for optimizer, state in zip(optimizers, parts["optimizers"], strict=True):
        optimizer.load_state_dict(state)
    return Run(**parts["run"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--runs", type=Path, default=Path("runs/tiny"))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    import torch

    torch.set_num_threads(arguments.threads)
    settings = Settings(steps=arguments.steps, batch=arguments.batch)
    tokenizer = train_tokenizer()
    model = build_model(tokenizer, settings)
    train(model, tokenizer, settings, arguments.runs, arguments.resume)


if __name__ == "__main__":
    main()
