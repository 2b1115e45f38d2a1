"""The fused sampler against its plain reference: the same token wherever the reference's margin exceeds 1e-5."""

import numpy as np
import pytest
import torch

from grammarlm.errors import MaskError
from grammarlm.kernels.reference import apply_mask as reference
from grammarlm.kernels.reference import sampling as reference_sampling

pytest.importorskip("triton", reason="Triton is not installed: pip install grammarlm[gpu]")
from grammarlm.kernels.gpu.sample import sample_gpu

# Far below the largest logit a token arrives at +inf, which numpy, and so the interpreter, remarks upon.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

DTYPES = torch.float32, torch.float16, torch.bfloat16
MARGIN = 1e-5  # what float32 can tell apart
FILTERS = {
    "none": {},
    "top_k": {"top_k": (1, 3, 40, 0, 10**6, -1)},
    "top_p": {"top_p": (0.1, 0.5, 0.9, 0.999, 1.0, 0.0)},
    "min_p": {"min_p": (0.5, 0.1, 0.01, 0.0, 1.0, 2.0)},
    "top_k and top_p": {"top_k": (5, 50, 2, 0, 10**6, 300), "top_p": (0.9, 0.5, 0.95, 0.3, 0.8, 1.0)},
    "all": {"top_k": (30, 5, 100, 4, 0, 500), "top_p": (0.9, 0.8, 1.0, 0.7, 0.95, 0.5), "min_p": (0.1, 0.3, 0.05, 0.0, 0.2, 0.01)},
}  # fmt: skip


class Case:
    """Logits, mask and parameters of a batch, as the kernel gets them (torch) and as the reference does (numpy)."""

    def __init__(self, device, logits, mask=None, rows=None, *, seed=0, position=0, temperature=1.0, **filters):
        batch = len(logits)
        self.logits, self.mask, self.rows = logits, mask, rows
        spread = {"seed": seed, "position": position, "temperature": temperature, **filters}
        self.parameters = {name: np.broadcast_to(np.resize(v, batch), batch).copy() for name, v in spread.items()}
        tensors = {name: torch.from_numpy(v).to(device) for name, v in self.parameters.items()}
        for name, dtype in (("seed", torch.int64), ("position", torch.int64), ("top_k", torch.int32)):
            if name in tensors:
                tensors[name] = tensors[name].to(dtype)
        for name in ("temperature", "top_p", "min_p"):
            if name in tensors:
                tensors[name] = tensors[name].float()
                self.parameters[name] = self.parameters[name].astype(np.float32).astype(float)
        self.tensors = tensors
        self.device = device

    def run(self, **others):
        mask = None if self.mask is None else torch.from_numpy(self.mask).to(self.device)
        rows = None if self.rows is None else torch.tensor(self.rows, device=self.device)
        tokens, logprobs = sample_gpu(self.logits, mask, rows=rows, **{**self.tensors, **others})
        assert tokens.dtype == torch.int64
        assert logprobs.dtype == torch.float32
        return tokens.cpu().numpy(), logprobs.cpu().numpy()

    def expected(self):
        logits = self.logits.float().cpu().numpy()
        draws = []
        for i, row in enumerate(logits):
            mask_row = i if self.rows is None else self.rows[i]
            free = self.mask is None or mask_row < 0
            allowed = (
                np.ones(len(row), bool)
                if free
                else reference.mask_bits(self.mask[mask_row : mask_row + 1], len(row))[0]
            )
            draws.append(reference_sampling.sample(row, allowed, **{k: v[i] for k, v in self.parameters.items()}))
        return draws

    def check(self, at_least=0.9):
        """Equal wherever the margin tells, which must be nearly everywhere."""
        tokens, logprobs = self.run()
        draws = self.expected()
        clear = np.array([draw.margin > MARGIN for draw in draws])
        assert clear.mean() >= at_least
        assert tokens[clear].tolist() == [draw.token for draw, sure in zip(draws, clear, strict=True) if sure]
        same = tokens == [draw.token for draw in draws]
        np.testing.assert_allclose(
            logprobs[same], [draw.logprob for draw, s in zip(draws, same, strict=True) if s], atol=1e-4, rtol=1e-5
        )
        return tokens, logprobs


def random_logits(rng, batch, width, dtype, device, spread=3.0):
    return torch.from_numpy(rng.standard_normal((batch, width)).astype(np.float32) * spread).to(dtype).to(device)


def random_mask(rng, rows, width, density):
    ones = rng.random((rows, 32 * (-(-width // 32)))) < density
    return np.packbits(ones, axis=1, bitorder="little").view(np.int32)


@pytest.mark.parametrize("filters", FILTERS)
def test_filters(filters, device):
    rng = np.random.default_rng(len(filters))
    logits = random_logits(rng, 6, 2300, torch.float32, device)
    mask = random_mask(rng, 6, 2300, 0.4)
    Case(device, logits, mask, seed=11, position=np.arange(6), temperature=[1.0, 0.7, 1.5], **FILTERS[filters]).check()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("filters", ["top_k and top_p", "all"])
def test_half_widths(filters, dtype, device):
    rng = np.random.default_rng(len(filters))
    logits = random_logits(rng, 6, 2000, dtype, device)
    Case(device, logits, random_mask(rng, 6, 2000, 0.4), seed=12, position=np.arange(6), **FILTERS[filters]).check()


@pytest.mark.parametrize("width", [1, 31, 32, 33, 1000, 2048, 2049])
def test_widths(width, device):
    rng = np.random.default_rng(width)
    mask = np.concatenate([random_mask(rng, 1, width, density) for density in (1.0, 0.5, 1.5 / width, 0.99)])
    logits = random_logits(rng, 4, width, DTYPES[width % 3], device)
    Case(device, logits, mask, seed=3, position=np.arange(4), temperature=[1.0, 0.8, 0.0, 2.0]).check()


@pytest.mark.parametrize("filters", ["top_k", "top_p", "top_k and top_p"])
def test_several_tiles(filters, device):
    """A row of more chunks than one look takes, flat enough that candidates are turned down several times."""
    rng = np.random.default_rng(5)
    rows = 3 if device.type == "cuda" else 2  # in the interpreter
    logits = random_logits(rng, rows, 9001, torch.float32, device, spread=0.5)
    Case(device, logits, seed=np.arange(rows), position=9, **FILTERS[filters]).check()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_ties_at_the_edge_all_stay(dtype, device):
    """Logits from a few values: a filter's edge lies among equals, which stay or go together."""
    rng = np.random.default_rng(6)
    values = rng.choice([-1.0, -0.0, 0.0, 0.5, 2.0], (8, 300)).astype(np.float32)
    logits = torch.from_numpy(values).to(dtype).to(device)
    k = np.arange(8) * 37 + 1
    Case(device, logits, position=np.arange(8), top_k=k, top_p=0.97).check()
    tokens, _ = Case(device, logits, position=np.arange(8), top_k=k).check()
    assert all(row[token] >= np.sort(row)[-least] for row, token, least in zip(values, tokens, k, strict=True))


def test_greedy_takes_the_lowest_of_the_largest(device):
    rng = np.random.default_rng(7)
    logits = torch.from_numpy(rng.integers(-3, 4, (4, 4097)).astype(np.float32)).to(device)
    mask = random_mask(rng, 4, 4097, 0.3)
    tokens, logprobs = Case(device, logits, mask, temperature=0.0, top_k=5, top_p=0.5, min_p=0.1).check(at_least=1.0)
    masked = np.where(reference.mask_bits(mask, 4097), logits.cpu().numpy(), -np.inf)
    assert tokens.tolist() == masked.argmax(axis=1).tolist()
    log_softmax = torch.log_softmax(torch.from_numpy(masked).double(), 1)
    np.testing.assert_allclose(logprobs, log_softmax.gather(1, torch.from_numpy(tokens)[:, None])[:, 0], atol=1e-5)


@pytest.mark.parametrize("filters", ["none", "all"])
def test_rows_choose_repeat_and_spare(filters, device):
    rng = np.random.default_rng(8)
    case = Case(device, random_logits(rng, 6, 500, torch.float32, device), random_mask(rng, 3, 500, 0.1),
                rows=np.array([2, -1, 0, 0, -1, 2]), seed=1, position=np.arange(6), **FILTERS[filters])  # fmt: skip
    case.check()


@pytest.mark.parametrize("filters", ["none", "min_p", "all"])
def test_nothing_allowed_gives_no_token(filters, device):
    logits = torch.zeros((5, 3000), device=device)
    logits[1] = torch.nan
    logits[2] = -torch.inf
    logits[4] = torch.nan
    logits[4, 2500] = 1.0
    mask = np.full((5, 94), -1, np.int32)
    mask[0] = 0
    mask[3] = 0
    mask[3, 93] = -(1 << 24)  # only columns beyond the logits
    tokens, logprobs = Case(device, logits, mask, **FILTERS[filters]).run()
    assert tokens.tolist() == [-1, -1, -1, -1, 2500]
    assert logprobs.tolist() == [-np.inf] * 4 + [0.0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_infinite_and_extreme_logits(dtype, device):
    rng = np.random.default_rng(9)
    logits = random_logits(rng, 4, 200, dtype, device)
    logits[0, [3, 150]] = torch.inf
    logits[1, 20] = torch.finfo(dtype).max
    logits[2] = torch.finfo(dtype).min
    logits[3, 10:] = torch.nan
    for filters in ("none", "top_k and top_p", "all"):
        tokens, _ = Case(device, logits, temperature=0.5, position=np.arange(4), **FILTERS[filters]).check(at_least=0.5)
        assert tokens[0] in (3, 150)
        assert tokens[1] == 20
        assert tokens[3] < 10
    assert Case(device, logits, temperature=1e-38).run()[0][1] == 20
    Case(device, logits, temperature=np.inf, position=7).check()


def test_masks_narrower_than_the_logits_forbid_the_rest(device):
    rng = np.random.default_rng(10)
    logits = random_logits(rng, 8, 400, torch.float32, device)
    tokens, _ = Case(device, logits, random_mask(rng, 8, 96, 0.9), position=np.arange(8)).check()
    assert tokens.max() < 96


@pytest.mark.parametrize("layout", ["transposed", "sliced"])
def test_any_strides(layout, device):
    rng = np.random.default_rng(11)
    plain = random_logits(rng, 6, 700, torch.float32, device)
    strided = plain.T.contiguous().T if layout == "transposed" else torch.cat([plain, plain], 1)[:, :700]
    assert strided.stride() != plain.stride()
    mask = random_mask(rng, 6, 700, 0.5)
    (tokens, logprobs), (others, their_logprobs) = (
        Case(device, logits, mask, **FILTERS["all"]).run() for logits in (strided, plain)
    )
    assert np.array_equal(tokens, others)
    # Columns far apart are read by other threads, so sums are made in another order.
    np.testing.assert_allclose(logprobs, their_logprobs, rtol=1e-6)


def equal(first, second):
    return all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("filters", ["none", "top_k and top_p"])
def test_a_draw_hangs_on_seed_and_position_alone(filters, device):
    """Not on the row or the size of the batch; and both matter, in all their 64 bits."""
    rng = np.random.default_rng(12)
    one = random_logits(rng, 1, 2100, torch.float32, device, spread=1.0)
    keys = np.array([(s, p) for s in (0, 1 << 40, -1) for p in (0, 1, 1 << 40)])
    keys = keys if device.type == "cuda" else keys[[0, 1, 2, 3, 7]]  # the interpreter takes half a second a row
    chosen = {name: values[1] for name, values in FILTERS[filters].items()}
    batch, logprobs = Case(device, one.expand(len(keys), -1), seed=keys[:, 0], position=keys[:, 1], **chosen).check()
    assert len(set(batch.tolist())) > len(keys) // 2
    for i in (0, len(keys) // 2, len(keys) - 1)[: None if device.type == "cuda" else 2]:
        alone = Case(device, one, seed=keys[i, 0], position=keys[i, 1], **chosen).run()
        assert equal(alone, (batch[i : i + 1], logprobs[i : i + 1]))


def test_frequencies_are_the_probabilities(device):
    """Chi-square of 5,000 draws of the reference over a filtered distribution of few tokens, known exactly.

    The bound is that of 1 in 10^6. The kernel repeats as many draws as the device makes quickly.
    """
    row = np.log(np.array([0.30, 0.22, 0.15, 0.11, 0.08, 0.06, 0.04, 0.02, 0.01, 0.01])).astype(np.float32)
    mask = np.array([[0b1111101111]], np.int32)  # token 4 is forbidden
    parameters = {"temperature": 2.0, "top_k": 7, "top_p": 0.9, "min_p": 0.2}
    allowed = reference.mask_bits(mask, 10)[0]
    draws = [reference_sampling.sample(row, allowed, 2024, i, **parameters).token for i in range(5_000)]
    weights = np.sqrt(np.exp(row.astype(float))) * np.array([1, 1, 1, 1, 0, 1, 1, 0, 0, 0])  # top-p ends after token 6
    counts = np.bincount(draws, minlength=10)
    assert counts[weights == 0].sum() == 0
    expected = (len(draws) * weights / weights.sum())[weights > 0]
    assert ((counts[weights > 0] - expected) ** 2 / expected).sum() < 35.9  # 5 degrees of freedom

    n = len(draws) if device.type == "cuda" else 15
    logits = torch.from_numpy(row).to(device).expand(n, -1)
    tokens, _ = Case(device, logits, mask, np.zeros(n, np.int64), seed=2024, position=np.arange(n), **parameters).run()
    assert (tokens == draws[:n]).mean() > 0.999


def test_parameters_of_the_wrong_shape_are_refused(device):
    logits = torch.zeros((2, 5), device=device)
    with pytest.raises(MaskError, match=r"top_k has shape \(1,\)"):
        Case(device, logits).run(top_k=torch.ones(1, dtype=torch.int32, device=device))


def test_philox_against_its_published_vectors():
    """Random123's known answers for Philox4x32, key and counter of zeros, with 10 rounds and with 7."""
    zeros = reference_sampling.philox(0, np.array([0]), 0, rounds=10)
    assert [f"{int(word):08x}" for word in zeros[0]] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    zeros = reference_sampling.philox(0, np.array([0]), 0)
    assert [f"{int(word):08x}" for word in zeros[0]] == ["5f6fb709", "0d893f64", "4f121f81", "4f730a48"]
