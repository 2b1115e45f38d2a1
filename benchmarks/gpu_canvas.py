"""What benchmarks/gpu_kernels compares on the rows of canvases: class bits to masks and into logits, and logits to classes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from benchmarks.gpu_cases import masks_rightly
from grammarlm.kernels.reference import canvas as reference

LARGE = 0.6  # the share of the tokens in the largest class: those that may stand in any string


@dataclass(frozen=True)
class ClassCase:
    """Batches of logits [copies, B, V], classes of the tokens, and one row of class bits for each row of logits."""

    logits: torch.Tensor
    class_of: torch.Tensor  # int32 [V]
    classes: int
    class_bits: torch.Tensor  # int32 [B, words]
    allowed: torch.Tensor  # bool [B, K]: the same, for those who need bytes

    def facts(self) -> dict[str, Any]:
        _, batch, width = self.logits.shape
        dtype = str(self.logits.dtype).removeprefix("torch.")
        return {"batch": batch, "vocabulary": width, "dtype": dtype, "classes": self.classes}

    @cached_property
    def mask(self) -> torch.Tensor:
        """int32 [B, words], as the reference expands it."""
        words = reference.expand_rows(self.class_bits.cpu().numpy(), self.class_of.cpu().numpy())
        return torch.from_numpy(words).to(self.logits.device)

    @cached_property
    def places(self) -> torch.Tensor:
        """int64 [V], as torch wants indices."""
        return self.class_of.long()


def make_class_case(batch: int, width: int, dtype: torch.dtype, classes: int, device: torch.device) -> ClassCase:
    """A class of most tokens; the others from one token up, few of them large, dispersed over the ids as in real vocabularies."""
    rng = np.random.default_rng(batch + width + classes)
    weights = 1 / np.arange(1, classes) ** 1.1
    class_of = np.where(
        rng.random(width) < LARGE, 0, 1 + rng.choice(classes - 1, width, p=weights / weights.sum())
    ).astype(np.int32)
    allowed = rng.random((batch, classes)) < 0.3
    allowed[:, 0] = np.arange(batch) % 2  # every second row is inside a string
    padded = np.pad(allowed, ((0, 0), (0, -classes % 32)))
    bits = np.packbits(padded, axis=1, bitorder="little").view(np.int32)
    logits = (2 * rng.standard_normal((batch, width))).astype(np.float32)
    cache = torch.cuda.get_device_properties(device).L2_cache_size if device.type == "cuda" else 0
    copies = max(2, math.ceil(2 * cache / (logits.size * dtype.itemsize)))
    return ClassCase(
        torch.from_numpy(logits).to(device, dtype).expand(copies, -1, -1).contiguous(),
        torch.from_numpy(class_of).to(device),
        classes,
        torch.from_numpy(bits).to(device),
        torch.from_numpy(allowed).to(device),
    )


Calls = dict[str, Callable[[int], Any]]


def expanders(case: ClassCase) -> Calls:
    """Name -> a call that returns the mask rows."""
    from grammarlm.kernels.gpu.canvas_rows import expand_rows

    return {
        "grammarlm": lambda _: expand_rows(case.class_bits, case.class_of),
        "index_select, pack": lambda _: packed(case.allowed.index_select(1, case.places)),
    }


def packed(allowed: torch.Tensor) -> torch.Tensor:
    """int32 [B, words] of bool [B, V]."""
    padded = torch.nn.functional.pad(allowed, (0, -allowed.shape[1] % 32)).view(len(allowed), -1, 32)
    powers = torch.ones(32, dtype=torch.int32, device=allowed.device) << torch.arange(32, device=allowed.device)
    return (padded * powers.int()).sum(2, dtype=torch.int32)


def class_appliers(case: ClassCase) -> Calls:
    """Name -> a call that masks batch i in place."""
    from grammarlm.kernels.gpu.apply_mask import apply_mask_gpu_
    from grammarlm.kernels.gpu.canvas_rows import apply_class_rows_, expand_rows

    def by_torch(i: int) -> None:
        case.logits[i].masked_fill_(~case.allowed.index_select(1, case.places), -math.inf)

    return {
        "grammarlm": lambda i: apply_class_rows_(case.logits[i], case.class_bits, case.class_of),
        "expand_rows, apply_mask_": lambda i: apply_mask_gpu_(
            case.logits[i], expand_rows(case.class_bits, case.class_of)
        ),
        "index_select, masked_fill": by_torch,
    }


def pieces_of_case(case: ClassCase) -> Any:
    from grammarlm.kernels.gpu.class_scores import pieces_of

    class_of = case.class_of.cpu().numpy()
    order = np.argsort(class_of, kind="stable").astype(np.int32)
    return pieces_of(order, np.searchsorted(class_of[order], np.arange(case.classes + 1)), case.logits.device)


def scorers(case: ClassCase) -> Calls:
    """Name -> a call that returns, of each row and class, the highest logit first, and more or nothing behind it."""
    from grammarlm.kernels.gpu.class_scores import class_best

    pieces = pieces_of_case(case)
    places = case.places.expand(case.logits.shape[1], -1)
    tokens = torch.arange(len(case.class_of), device=case.logits.device).expand_as(places)

    def highest(i: int) -> torch.Tensor:
        found = torch.full(case.allowed.shape, -math.inf, device=case.logits.device)
        return found.scatter_reduce_(1, places, case.logits[i].float(), "amax")

    def all_three(i: int) -> tuple[torch.Tensor, ...]:
        logits, tops = case.logits[i].float(), highest(i)
        of_token = tops.gather(1, places)
        sums = torch.zeros_like(tops).scatter_add_(1, places, (logits - of_token).exp())
        first = torch.full(tops.shape, len(case.class_of), device=tops.device)
        holders = torch.where(logits == of_token, tokens, len(case.class_of))
        return tops, first.scatter_reduce_(1, places, holders, "amin"), sums

    return {
        "grammarlm": lambda i: class_best(case.logits[i], pieces),
        "class_best, to the host": lambda i: tuple(found.cpu() for found in class_best(case.logits[i], pieces)),
        "scatter_reduce (highest only)": lambda i: (highest(i),),
        "scatter, all three": all_three,
    }


def drawers(case: ClassCase) -> Calls:
    """Name -> a call that draws a token of one class for each row; half of the rows draw from the largest one."""
    from grammarlm.kernels.gpu.class_scores import class_best, drawn_members

    pieces = pieces_of_case(case)
    best = class_best(case.logits[0], pieces)  # as fill and sample have it already; all batches hold the same logits
    kinds, shares = draws_of(case)

    def by_torch(i: int) -> torch.Tensor:
        others = case.class_of != kinds[:, None]
        p = torch.softmax(case.logits[i].float().masked_fill(others, -math.inf), 1)
        return (p / torch.empty_like(p).exponential_()).argmax(1)

    return {
        "grammarlm": lambda i: drawn_members(case.logits[i], pieces, best, kinds, shares),
        "masked_fill, softmax, race": by_torch,
    }


def draws_of(case: ClassCase) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each row a class, int64 [B], and a number from 0 to 1, float32 [B]."""
    rows = torch.arange(len(case.allowed), device=case.logits.device)
    kinds = torch.where(rows % 2 == 0, 0, case.places[rows * 31 % len(case.places)])
    return kinds, ((rows + 0.5) * 0.618) % 1


def draws_rightly(case: ClassCase, name: str, call: Callable[[int], Any]) -> bool:
    """Tokens of the classes, and ours, on three rows, the reference's wherever float32 can tell."""
    tokens, (kinds, shares) = call(0).long(), draws_of(case)
    if not torch.equal(case.places[tokens], kinds):
        return False
    class_of = case.class_of.cpu().numpy()
    for row in sorted({0, len(tokens) // 2, len(tokens) - 1}) if name == "grammarlm" else []:
        members = np.flatnonzero(class_of == kinds[row].item())
        logits = case.logits[0, row].float().cpu().numpy()
        token, margin = reference.drawn_token(logits, members, shares[row].item())
        if margin > 1e-5 and token != tokens[row].item():
            return False
    return True


def expands_rightly(case: ClassCase, _: str, call: Callable[[int], Any]) -> bool:
    return torch.equal(call(0), case.mask)


def scores_rightly(case: ClassCase, name: str, call: Callable[[int], Any]) -> bool:
    """On the first, middle and last row: highest logits, and where they are given first tokens and sums. Sums of float32 that are
    made one by one, as scatter's are, lose digits."""
    nearness = 1e-3 if name.startswith("scatter") else 1e-5
    found = [tensor.cpu().numpy() for tensor in call(0)]
    for row in sorted({0, len(case.allowed) // 2, len(case.allowed) - 1}):
        logits = case.logits[0, row].float().cpu().numpy()
        tops, tokens, logs = reference.class_best(logits, case.class_of.cpu().numpy(), case.classes)
        has_tokens = tokens >= 0
        right = np.array_equal(found[0][row], tops)
        if len(found) > 1:
            right = right and np.array_equal(found[1][row][has_tokens], tokens[has_tokens])
            got = tops[has_tokens] + np.log(found[2][row][has_tokens].astype(np.float64))
            right = right and np.allclose(got, logs[has_tokens], rtol=0, atol=nearness)
        if not right:
            return False
    return True


COMPARISONS: dict[str, tuple[Callable[[ClassCase], Calls], Callable[[ClassCase, str, Callable], bool]]] = {
    "expand_rows": (expanders, expands_rightly),
    "class_best": (scorers, scores_rightly),
    "drawn_members": (drawers, draws_rightly),
    "apply_class_rows_": (class_appliers, masks_rightly),  # last: it leaves infinities among the logits
}
