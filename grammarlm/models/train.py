"""Train the embedded model from scratch: `python -m grammarlm.models.train`.

The text is generated during training (`corpus.py`), so nothing is downloaded and no example number is used twice. A batch is a
function of the step alone and a checkpoint holds the model and both optimizers: `--resume` continues a stopped run, and
`--resume --steps N` with a checkpoint at step N only writes the model. The learning rate warms up, stays constant for half of the
run, drops to a third (at the high rate the loss soon only jitters) and decays linearly to zero. A run may be resumed with another
number of steps until the drop.

Matrices are trained with Muon, which makes each update orthogonal; the embedding and the norms with AdamW. Muon needs torch 2.9;
using the model does not.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grammarlm.models import checkpoint
from grammarlm.models.batching import batches
from grammarlm.models.checkpoint import Run
from grammarlm.models.export import CONTEXT, export
from grammarlm.models.tiny import FOLDER
from grammarlm.models.tokenizer import train_tokenizer

if TYPE_CHECKING:
    import torch
    from rich.progress import Progress
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

LOG_EVERY = 50
CHECKPOINT_EVERY = 250
MAX_GRADIENT_NORM = 1.0


@dataclass(frozen=True)
class Settings:
    """Hyperparameters; with the same settings a run sees the same batches."""

    steps: int
    batch: int = 32
    hidden: int = 192
    layers: int = 4
    head_width: int = 32
    seed: int = 0
    matrix_rate: float = 0.02
    other_rate: float = 3e-3
    weight_decay: float = 0.01
    warm_up: int = 200
    level: float = 0.53
    drop: float = 0.35


def build_model(tokenizer: "PreTrainedTokenizerFast", settings: Settings) -> "LlamaForCausalLM":
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(settings.seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden,
        intermediate_size=settings.hidden * 8 // 3,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.hidden // settings.head_width,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


def build_optimizers(model: "LlamaForCausalLM", settings: Settings) -> "list[torch.optim.Optimizer]":
    """Muon for the matrices inside the layers, AdamW for the embedding (tied to the output) and the norms."""
    import torch

    inner: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        (inner if parameter.ndim == 2 and "embed" not in name else others).append(parameter)
    optimizers = [
        torch.optim.Muon(inner, lr=settings.matrix_rate, weight_decay=settings.weight_decay),
        torch.optim.AdamW(others, lr=settings.other_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["full_rate"] = group["lr"]
    return optimizers


def rate(step: int, settings: Settings) -> float:
    """The factor of the learning rates at a step: warm-up, constant for a share of the run, then `drop` decaying to zero."""
    fall_begins = settings.level * settings.steps
    if step < fall_begins:
        return min(1.0, (step + 1) / settings.warm_up)
    return settings.drop * (settings.steps - step) / (settings.steps - fall_begins)


def losses(
    model: "LlamaForCausalLM", ids: "torch.Tensor", weights: "torch.Tensor"
) -> tuple["torch.Tensor", "torch.Tensor"]:
    """The weighted loss to minimise, and the mean loss on record tokens for the log; padding costs no logits."""
    import torch

    hidden = model.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
    counted = weights[:, 1:] > 0
    logits = model.lm_head(hidden[counted]).float()
    each = torch.nn.functional.cross_entropy(logits, ids[:, 1:][counted], reduction="none")
    weight = weights[:, 1:][counted]
    return (each * weight).sum() / weight.sum(), each[weight == 1.0].mean()


def descend(
    model: "LlamaForCausalLM",
    optimizers: "Sequence[torch.optim.Optimizer]",
    batch: tuple["torch.Tensor", "torch.Tensor"],
    factor: float,
) -> float:
    """One step; returns the loss on record tokens before it."""
    import torch

    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, record_loss = losses(model, *batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT_NORM)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["full_rate"] * factor
        optimizer.step()
        optimizer.zero_grad()
    return record_loss.item()


def train(
    model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast", settings: Settings, folder: Path, resume: bool
) -> Run:
    """Trains up to `settings.steps`, with checkpoints in `folder` on the way and at the end."""
    optimizers = build_optimizers(model, settings)
    run = checkpoint.load(folder, model, optimizers) if resume else Run()
    recent: list[float] = []
    with progress_bar() as progress:
        bar = progress.add_task("training", total=settings.steps, completed=run.step, loss=float("nan"))
        clock = time.perf_counter()
        for batch in batches(tokenizer, run.step, settings.steps, settings.batch):
            recent.append(descend(model, optimizers, batch, rate(run.step, settings)))
            run.step += 1
            run.tokens += int((batch[1] > 0).sum())
            run.seconds, clock = run.seconds + time.perf_counter() - clock, time.perf_counter()
            progress.update(bar, advance=1, loss=recent[-1])
            if run.step % LOG_EVERY == 0 or run.step == settings.steps:
                run.losses.append(sum(recent) / len(recent))
                recent.clear()
                progress.console.print(f"step {run.step} loss {run.losses[-1]:.4f} after {run.seconds:.0f} s")
            if run.step % CHECKPOINT_EVERY == 0 or run.step == settings.steps:
                checkpoint.save(folder, model, optimizers, run)
    return run


def progress_bar() -> "Progress":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    loss = TextColumn("loss {task.fields[loss]:.3f}")
    return Progress(loss, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4250)
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder to write the model to")
    parser.add_argument("--runs", type=Path, default=Path("runs/tiny"), help="the folder of the checkpoint")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--threads", type=int, default=1, help="more than one pays only on idle cores")
    arguments = parser.parse_args()

    import torch

    torch.set_num_threads(arguments.threads)
    settings = Settings(steps=arguments.steps)
    tokenizer = train_tokenizer()
    model = build_model(tokenizer, settings)
    run = train(model, tokenizer, settings, arguments.runs, arguments.resume)
    facts = {"batch": settings.batch, "threads": arguments.threads, "log_every": LOG_EVERY}
    for kind, share in export(model, tokenizer, arguments.out, run, **facts).items():
        print(f"{kind}: {100 * share:.1f} % exact")


if __name__ == "__main__":
    main()
