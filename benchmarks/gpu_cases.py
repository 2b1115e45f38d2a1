"""What benchmarks/gpu_kernels compares on a batch: our kernels and their peers, and whether each is right."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from grammarlm.kernels.reference import apply_mask as reference
from grammarlm.kernels.reference import sampling as reference_sampling

LANES = {torch.float32: torch.int32, torch.bfloat16: torch.int16}


@dataclass(frozen=True)
class Case:
    """Batches of logits [copies, B, V], and one mask [B, words] with its bits as bytes [B, V] for those who need them."""

    logits: torch.Tensor
    mask: torch.Tensor
    forbidden: torch.Tensor

    def facts(self) -> dict[str, Any]:
        _, batch, width = self.logits.shape
        return {"batch": batch, "vocabulary": width, "dtype": str(self.logits.dtype).removeprefix("torch.")}


def make_case(batch: int, width: int, dtype: torch.dtype, density: float, device: torch.device) -> Case:
    """Logits as a model gives them: most of them one hill, and a few tokens far above it."""
    rng = np.random.default_rng(batch + width)
    ones = rng.random((batch, math.ceil(width / 32) * 32)) < density
    ones[:, 7] = True  # a sampler needs something to draw
    mask = np.packbits(ones, axis=1, bitorder="little").view(np.int32)
    logits = (2 * rng.standard_normal((batch, width))).astype(np.float32)
    for row in logits:
        row[rng.integers(width, size=30)] += rng.uniform(4, 12, 30)
    cache = torch.cuda.get_device_properties(device).L2_cache_size if device.type == "cuda" else 0
    copies = max(2, math.ceil(2 * cache / (logits.size * dtype.itemsize)))
    return Case(
        torch.from_numpy(logits).to(device, dtype).expand(copies, -1, -1).contiguous(),
        torch.from_numpy(mask).to(device),
        torch.from_numpy(~ones[:, :width]).to(device),
    )


def unpack(mask: torch.Tensor, width: int) -> torch.Tensor:
    """bool [B, V]: which tokens are forbidden."""
    bits = mask[:, :, None] >> torch.arange(32, device=mask.device, dtype=torch.int32)
    return (bits & 1).reshape(len(mask), -1)[:, :width] == 0


def apply_by_torch(logits: torch.Tensor, mask: torch.Tensor) -> None:
    logits.masked_fill_(unpack(mask, logits.shape[1]), -math.inf)


def sample_by_torch(logits: torch.Tensor, mask: torch.Tensor, top_k: int, top_p: float, min_p: float) -> torch.Tensor:
    """What engines do without a kernel: sort for top-p, and the same race with torch's random numbers."""
    x = logits.float().masked_fill(unpack(mask, logits.shape[1]), -math.inf)
    if top_k:
        x = x.masked_fill(x < x.topk(top_k).values[:, -1:], -math.inf)
    p = torch.softmax(x, 1)
    if top_p < 1:
        ranked, order = p.sort(dim=1, descending=True)
        ranked = ranked.masked_fill(ranked.cumsum(1) - ranked >= top_p, 0)
        p = torch.zeros_like(p).scatter_(1, order, ranked)
    if min_p:
        p = p.masked_fill(p < min_p * p.amax(1, keepdim=True), 0)
    return (p / torch.empty_like(p).exponential_()).argmax(1)


def appliers(case: Case, peers: bool) -> dict[str, Callable[[int], Any]]:
    """Name -> a call that masks batch i in place."""
    from grammarlm.kernels.gpu.apply_mask import apply_mask_gpu_

    calls: dict[str, Callable[[int], Any]] = {
        "grammarlm": lambda i: apply_mask_gpu_(case.logits[i], case.mask),
        "masked_fill": lambda i: case.logits[i].masked_fill_(case.forbidden, -math.inf),
    }
    if peers:
        torch._dynamo.reset()  # every shape gets code of its own, and none falls back to eager
        fused = torch.compile(apply_by_torch)
        calls["torch.compile"] = lambda i: fused(case.logits[i], case.mask)
        calls["xgrammar triton"] = lambda i: by_xgrammar(case.logits[i], case.mask, "triton")
        calls["xgrammar cuda"] = lambda i: by_xgrammar(case.logits[i], case.mask, "cuda")
    return calls


def by_xgrammar(logits: torch.Tensor, mask: torch.Tensor, backend: Any) -> None:
    import xgrammar

    xgrammar.apply_token_bitmask_inplace(logits, mask, backend=backend)


def samplers(case: Case, filters: dict[str, Any], peers: bool) -> dict[str, Callable[[int], torch.Tensor]]:
    """Name -> a call that draws one token a row of batch i."""
    from grammarlm.kernels.gpu.sample import sample_gpu

    batch, device = len(case.mask), case.logits.device
    types = {"top_k": torch.int32, "top_p": torch.float32, "min_p": torch.float32}
    ours = {name: torch.full((batch,), value, dtype=types[name], device=device) for name, value in filters.items()}
    ours["seed"], ours["position"] = (
        torch.zeros(batch, dtype=torch.int64, device=device),
        torch.arange(batch, device=device),
    )
    ours["temperature"] = torch.ones(batch, device=device)
    settings: dict[str, Any] = {"top_k": 0, "top_p": 1.0, "min_p": 0.0} | filters
    calls = {
        "grammarlm": lambda i: sample_gpu(case.logits[i], case.mask, **ours)[0],
        "torch": lambda i: sample_by_torch(case.logits[i], case.mask, **settings),
    }
    if peers:
        torch._dynamo.reset()
        fused = torch.compile(sample_by_torch)
        calls["torch.compile"] = lambda i: fused(case.logits[i], case.mask, **settings)
    return calls


class Masked(Protocol):
    """What may be checked by `masks_rightly`."""

    @property
    def logits(self) -> torch.Tensor: ...

    @property
    def mask(self) -> torch.Tensor: ...


def masks_rightly(case: Masked, _: str, call: Callable[[int], Any]) -> bool:
    """Bit for bit, on the first, middle and last row of the first batch, which stays as it was."""
    before = case.logits[0].clone()
    call(0)
    rows = sorted({0, len(before) // 2, len(before) - 1})
    got, given = (tensor[rows].view(LANES[tensor.dtype]).cpu() for tensor in (case.logits[0], before))
    forbidden = torch.from_numpy(~reference.mask_bits(case.mask[rows].cpu().numpy(), before.shape[1]))
    infinity = torch.tensor(-math.inf, dtype=before.dtype).view(LANES[before.dtype])
    case.logits[0].copy_(before)
    return torch.equal(got, torch.where(forbidden, infinity, given))


def samples_rightly(case: Case, filters: dict[str, Any], name: str, call: Callable[[int], torch.Tensor]) -> bool:
    """Allowed tokens everywhere, and ours, on three rows, the reference's wherever float32 can tell."""
    tokens = call(0)
    if case.forbidden.gather(1, tokens[:, None]).any():
        return False
    rows = sorted({0, len(tokens) // 2, len(tokens) - 1}) if name == "grammarlm" else []
    for row in rows:
        logits, allowed = case.logits[0, row].float().cpu().numpy(), ~case.forbidden[row].cpu().numpy()
        settings: dict[str, Any] = {key: np.float32(value).item() for key, value in filters.items()}
        draw = reference_sampling.sample(logits, allowed, 0, row, 1.0, **settings)
        if draw.margin > 1e-5 and draw.token != tokens[row].item():
            return False
    return True
