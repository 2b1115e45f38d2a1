"""The loss of each model on a batch."""

import torch
from torch import Tensor
from torch.nn import functional as F

from grammarlm.models.drafters import FeatureDrafter, Heads
from grammarlm.models.network import Network
from training.batching import Batch

PROMPT_SHARE, PROMPT_WEIGHT = 0.25, 0.4  # a quarter of the prompt's tokens counts, for less: most of it is random
EXIT_SHARE = 0.25  # of the answer's tokens, drawn for each layer before the last
EXIT_WEIGHTS = (0.1, 0.15, 0.2)
PADDING_WEIGHT, SUFFIX_SHARE = 0.1, 0.5


def cross_entropy(network: Network, states: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(network.logits(states).float(), targets, reduction="none")


def chance(batch: Batch) -> Tensor:
    """A number in [0, 1) for each token of a batch but the first: what is drawn depends on the batch alone."""
    return torch.rand(batch.answer[:, 1:].shape, generator=torch.Generator().manual_seed(batch.seed))


def causal(network: Network, batch: Batch) -> tuple[Tensor, float]:
    """Of the next token, after every layer, so that leaving early means something; and the last layer's on answers, to be shown."""
    answer, targets = batch.answer[:, 1:], batch.ids[:, 1:]
    drawn = chance(batch)
    counted = answer | (~batch.padding[:, 1:] & (drawn < PROMPT_SHARE))
    *early, last = network.states(batch.ids[:, :-1])
    each = cross_entropy(network, last[counted], targets[counted])
    is_answer = answer[counted]
    weights = torch.where(is_answer, 1.0, PROMPT_WEIGHT)
    loss = (each * weights).sum() / weights.sum()
    for layer, (states, weight) in enumerate(zip(early, EXIT_WEIGHTS[-len(early) :] if early else (), strict=True)):
        share = answer & (drawn >= layer * EXIT_SHARE) & (drawn < (layer + 1) * EXIT_SHARE)
        if share.any():
            loss = loss + weight * cross_entropy(network, states[share], targets[share]).mean()
    return loss, each[is_answer].mean().item()


def diffusion(network: Network, batch: Batch, mask: int) -> tuple[Tensor, float]:
    """Of what is masked: of half of the rows a share of the answer, its end and the padding, which a text is filled up with; of
    the others all that follows a place of the answer, so that the next token is learned first and is the surest one on a canvas.
    """
    drawn = torch.Generator().manual_seed(batch.seed)
    batch = widened(batch, int(torch.randint(0, (8, 64)[batch.seed % 4 == 0], (), generator=drawn)))
    rows = batch.ids.shape[0]
    shares = (torch.randperm(rows, generator=drawn) + torch.rand(rows, generator=drawn)) / rows  # spread over (0, 1)
    region = batch.answer | batch.padding
    is_drawn = torch.rand(batch.ids.shape, generator=drawn) < shares[:, None].clamp(min=0.02)
    given = ((1 - shares[:, None]) * batch.answer.sum(1, keepdim=True)).floor()  # so many tokens of an answer
    is_behind = region.cumsum(1) > given
    is_suffix = torch.rand(rows, 1, generator=drawn) < SUFFIX_SHARE
    masked = region & torch.where(is_suffix, is_behind, is_drawn)
    states = network.states(batch.ids.masked_fill(masked, mask))[-1]
    each = cross_entropy(network, states[masked], batch.ids[masked])
    is_answer = batch.answer[masked]
    weights = torch.where(is_answer, 1.0, PADDING_WEIGHT)
    return (each * weights).sum() / weights.sum().clamp(min=1.0), each[is_answer].mean().item()


def widened(batch: Batch, columns: int) -> Batch:
    """The batch with so many columns of padding more."""
    ids, answer, padding = (
        F.pad(each, (0, columns), value=value)
        for each, value in ((batch.ids, batch.pad), (batch.answer, False), (batch.padding, True))
    )
    return Batch(ids, answer, padding, batch.pad, batch.seed)


def heads(drafter: Heads, network: Network, batch: Batch) -> tuple[Tensor, float]:
    """Of the tokens two to five places after each: nearer ones weigh more."""
    with torch.no_grad():
        states = network.last_states(batch.ids)
    loss, shown = torch.zeros(()), 0.0
    for ahead, predicted in enumerate(drafter(states), start=2):
        answer = batch.answer[:, ahead:]
        logits = network.output(predicted[:, :-ahead][answer]).float()
        each = F.cross_entropy(logits, batch.ids[:, ahead:][answer])
        loss = loss + 0.8 ** (ahead - 2) * each
        shown += each.item() / Heads.COUNT
    return loss, shown


def features(drafter: FeatureDrafter, network: Network, batch: Batch) -> tuple[Tensor, float]:
    """Of the token after next from the predicted state, and the distance of that state; then once more from predicted states."""
    with torch.no_grad():
        states = network.last_states(batch.ids)
        embedded = network.model.embed_tokens(batch.ids[:, 1:])
    answer, targets = batch.answer[:, 2:], batch.ids[:, 2:]
    loss, shown, before = torch.zeros(()), 0.0, states[:, :-1]
    for weight in (1.0, 0.5):
        predicted = drafter(before, embedded)
        drafted = predicted[:, :-1][answer]
        each = F.cross_entropy(network.output(drafted).float(), targets[answer])
        loss = loss + weight * (each + F.smooth_l1_loss(drafted, states[:, 1:-1][answer]))
        shown += each.item() / 2
        before = torch.cat((states[:, :1], predicted[:, :-1]), 1)  # as when it drafts from what it drafted
    return loss, shown
