"""What each embedded model is, and how it is trained."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from grammarlm.models.network import Network
from grammarlm.models.tiny import untrained
from training import losses
from training.batching import Batch

Loss = Callable[[nn.Module, Batch], tuple[Tensor, float]]


@dataclass(frozen=True)
class Recipe:
    """Steps and sizes of one model's training; with the same recipe a run sees the same batches."""

    steps: int
    batch_tokens: int
    build: Callable[[], nn.Module]
    loss: Callable[..., tuple[Tensor, float]]
    needs_trunk: bool = False  # the causal model, trained before and frozen now
    begins_causal: bool = False  # with its weights: from nothing, copying from the prompt is not learned in time
    rate: float = 1.0  # the share of the optimizers' rates


RECIPES = {
    "causal": Recipe(6000, 4096, lambda: untrained("causal"), losses.causal),
    "draft": Recipe(3000, 4096, lambda: untrained("draft"), losses.causal),
    "heads": Recipe(3000, 4096, lambda: untrained("heads"), losses.heads, needs_trunk=True),
    "features": Recipe(2000, 4096, lambda: untrained("features"), losses.features, needs_trunk=True),
    "diffusion": Recipe(7000, 4096, lambda: untrained("diffusion"), losses.diffusion, begins_causal=True, rate=0.3),
}


def build(name: str, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return RECIPES[name].build()


def loss_of(name: str, mask: int, trunk: Network | None) -> Loss:
    """The loss of a model on a batch, with what it needs beside both."""
    loss = RECIPES[name].loss
    if RECIPES[name].needs_trunk and trunk is not None:
        network = trunk.requires_grad_(False).eval()
        return lambda model, batch: loss(model, network, batch)
    if name == "diffusion":
        return lambda model, batch: loss(model, batch, mask)
    return loss
