"""Train an embedded model from scratch: `python -m training.train causal`, draft, heads, features or diffusion.

The text is generated during training (`corpus/`), so nothing is downloaded and no example is used twice. A batch is a function of
its number alone and a checkpoint holds the model and its optimizers: `--resume` continues a stopped run to the same weights, bit
for bit; with a checkpoint at the last step it only writes the model. heads and features need the causal model, trained before;
diffusion begins with its weights. `recipes.py` has steps and losses, `losses.py` what is learned. Muon needs
torch 2.9; using the models does not.
"""

import argparse
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from grammarlm.models.network import Network
from grammarlm.models.tiny import untrained
from training import checkpoint
from training.batching import batches
from training.checkpoint import Run
from training.export import export
from training.optimizers import build_optimizers, rate
from training.recipes import RECIPES, build, loss_of
from training.tokenizer import train_tokenizer

if TYPE_CHECKING:
    from rich.progress import Progress
    from transformers import PreTrainedTokenizerFast

LOG_EVERY = 50
CHECKPOINT_EVERY = 250
MAX_GRADIENT_NORM = 1.0


def train(
    name: str, tokenizer: "PreTrainedTokenizerFast", runs: Path, steps: int, resume: bool, trunk: Network | None = None
) -> tuple[torch.nn.Module, Run]:
    """Trains a model up to `steps`, with checkpoints in `runs`/`name` on the way and at the end."""
    folder, recipe, model = runs / name, RECIPES[name], build(name, seed=0)
    if recipe.begins_causal and trunk is not None:
        model.load_state_dict(trunk.state_dict())
    optimizers, loss_of_batch = build_optimizers(model, recipe.rate), loss_of(name, tokenizer.mask_token_id, trunk)
    run = checkpoint.load(folder, model, optimizers) if resume and (folder / checkpoint.FILE).exists() else Run()
    recent: list[float] = []
    with progress_bar() as progress:
        bar = progress.add_task(name, total=steps, completed=run.step, loss=float("nan"))
        clock = time.perf_counter()
        for block, number, batch in batches(tokenizer, run.block, run.number, recipe.batch_tokens):
            if run.step >= steps:
                break
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss, shown = loss_of_batch(model, batch)
            descend(model, optimizers, loss, rate(run.step, steps))
            recent.append(shown)
            run.step, run.block, run.number = run.step + 1, block, number + 1
            run.tokens += int((~batch.padding).sum())
            run.seconds, clock = run.seconds + time.perf_counter() - clock, time.perf_counter()
            progress.update(bar, advance=1, loss=recent[-1])
            if run.step % LOG_EVERY == 0:
                known = [
                    each for each in recent if not math.isnan(each)
                ]  # a batch may have nothing masked of its answers
                run.losses.append(sum(known) / max(1, len(known)))
                recent.clear()
                progress.console.print(f"step {run.step} loss {run.losses[-1]:.4f} after {run.seconds:.0f} s")
            if run.step % CHECKPOINT_EVERY == 0 or run.step == steps:
                checkpoint.save(folder, model, optimizers, run)
    return model, run


def descend(model: torch.nn.Module, optimizers: list[torch.optim.Optimizer], loss: torch.Tensor, factor: float) -> None:
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT_NORM)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["full_rate"] * factor
        optimizer.step()
        optimizer.zero_grad()


def progress_bar() -> "Progress":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    loss = TextColumn("{task.description}: loss {task.fields[loss]:.3f}")
    return Progress(loss, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--steps", type=int, help="other than the recipe's")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of the checkpoints")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--threads", type=int, default=1, help="more than one pays only on idle cores")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    tokenizer = train_tokenizer()
    trunk = None
    if RECIPES[arguments.name].needs_trunk or RECIPES[arguments.name].begins_causal:
        trunk = untrained("causal")
        trunk.load_state_dict(torch.load(arguments.runs / "causal" / checkpoint.FILE, weights_only=True)["model"])
    steps = arguments.steps or RECIPES[arguments.name].steps
    model, run = train(arguments.name, tokenizer, arguments.runs, steps, arguments.resume, trunk)
    export(arguments.name, model, tokenizer, run, arguments.threads)


if __name__ == "__main__":
    main()
