"""Muon for matrices, AdamW for the rest, and the rate of both."""

import torch

MATRIX_RATE, OTHER_RATE = 0.02, 3e-3
WEIGHT_DECAY = 0.01
WARM_UP = 200  # steps
LEVEL = 0.5  # the share of the run at the full rate
DROP = 0.4  # of the rate after it: at the full rate the loss soon only jitters


def build_optimizers(model: torch.nn.Module, share: float = 1.0) -> list[torch.optim.Optimizer]:
    """Muon makes each update of a matrix orthogonal; the embedding (tied to the output) and the norms get AdamW. Both have
    `share` of their rates."""
    inner: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            (inner if parameter.ndim == 2 and "embed" not in name else others).append(parameter)
    optimizers: list[torch.optim.Optimizer] = [torch.optim.Muon(inner, lr=MATRIX_RATE, weight_decay=WEIGHT_DECAY)]
    if others:
        optimizers.append(torch.optim.AdamW(others, lr=OTHER_RATE, betas=(0.9, 0.95), weight_decay=0.0))
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["full_rate"] = group["lr"] * share
    return optimizers


def rate(step: int, steps: int) -> float:
    """The factor of the rates at a step: warm-up, constant for a share of the run, then `DROP` decaying to zero."""
    fall_begins = LEVEL * steps
    if step < fall_begins:
        return min(1.0, (step + 1) / WARM_UP)
    return DROP * (steps - step) / (steps - fall_begins)
