"""What each embedded model is, and how it is trained."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from grammarlm.models.drafters import FeatureDrafter, Heads, frozen
from grammarlm.models.network import Network, Shape
from grammarlm.models.tokenizer import VOCABULARY_SIZE
from grammarlm.models.training import losses
from grammarlm.models.training.batching import Batch

Loss = Callable[[nn.Module, Batch], tuple[Tensor, float]]
SHAPE = Shape(VOCABULARY_SIZE)


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
    "causal": Recipe(6000, 4096, lambda: Network(SHAPE), losses.causal),
    "draft": Recipe(3000, 4096, lambda: Network(replace(SHAPE, layers=1)), losses.causal),
    "heads": Recipe(3000, 4096, lambda: Heads(SHAPE), losses.heads, needs_trunk=True),
    "features": Recipe(2000, 4096, lambda: FeatureDrafter(SHAPE), losses.features, needs_trunk=True),
    "diffusion": Recipe(
        7000, 4096, lambda: Network(replace(SHAPE, causal=False)), losses.diffusion, begins_causal=True, rate=0.3
    ),
}


def build(name: str, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return RECIPES[name].build()


def loss_of(name: str, mask: int, trunk: Network | None) -> Loss:
    """The loss of a model on a batch, with what it needs beside both."""
    loss = RECIPES[name].loss
    if RECIPES[name].needs_trunk and trunk is not None:
        network = frozen(trunk)
        return lambda model, batch: loss(model, network, batch)
    if name == "diffusion":
        return lambda model, batch: loss(model, batch, mask)
    return loss
