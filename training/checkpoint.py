"""Checkpoints: weights, optimizer states, and the progress of the run."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

FILE = "checkpoint.pt"


@dataclass
class Run:
    """Progress of a training run."""

    step: int = 0
    block: int = 0  # and batch `number` of it: the next batch
    number: int = 0
    seconds: float = 0.0
    tokens: int = 0
    losses: list[float] = field(default_factory=list)  # the mean of each LOG_EVERY steps


def save(folder: Path, model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer], run: Run) -> None:
    """Writes a new file and renames it over the old one, so that a stop at any moment leaves a whole checkpoint."""
    states = [optimizer.state_dict() for optimizer in optimizers]
    parts: dict[str, Any] = {"model": model.state_dict(), "optimizers": states, "run": asdict(run)}
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(parts, folder / f"{FILE}.new")
    os.replace(folder / f"{FILE}.new", folder / FILE)


def load(folder: Path, model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> Run:
    """Restores weights and optimizer states, and returns the progress of the run."""
    parts = torch.load(folder / FILE, weights_only=True)
    model.load_state_dict(parts["model"])
    for optimizer, state in zip(optimizers, parts["optimizers"], strict=True):
        optimizer.load_state_dict(state)
    return Run(**parts["run"])
