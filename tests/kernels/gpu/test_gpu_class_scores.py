"""Best tokens and sums of classes against their plain reference: the same bits, and sums as close as float32 is."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grammarlm.kernels.reference import canvas as reference

pytest.importorskip("triton", reason="Triton is not installed: pip install grammarlm[gpu]")
from grammarlm.kernels.gpu.class_scores import ClassBest, class_best, drawn_members, pieces_of

DTYPES = torch.float32, torch.float16, torch.bfloat16
SIZES = {
    "one class": [2500],
    "one token": [1],
    "edges of tiles": [16, 17, 0, 1, 128, 129, 1024, 1025, 2048, 0],
    "one of everything": [3000, 1, 1, 1, 500, 40, 0, 7, 1500, 100, 1],
    "many small ones": [1, 2, 3, 0] * 120,
}


class Classes:
    """Classes of these sizes, their ids dispersed over a vocabulary."""

    def __init__(self, sizes, rng, device):  # type: ignore[no-untyped-def]
        self.of = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int32)
        self.count, self.order = len(sizes), np.argsort(self.of, kind="stable").astype(np.int32)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.pieces = pieces_of(self.order, self.starts, device)

    def members(self, kind: int) -> np.ndarray:
        return self.order[self.starts[kind] : self.starts[kind + 1]]


def some_logits(rng, batch, tokens, kind):  # type: ignore[no-untyped-def]
    logits = rng.normal(0, 8, (batch, tokens))
    if kind == "ties":
        logits = np.round(logits / 8) * 0.5 * rng.choice([1, -1], logits.shape)  # zeros of both signs
    if kind == "infinite":
        logits[rng.random(logits.shape) < 0.6] = -np.inf
        logits[0] = -np.inf
    if kind == "wrong":
        logits[rng.random(logits.shape) < 3 / tokens] = np.nan
        logits[rng.random(logits.shape) < 3 / tokens] = np.inf
        logits[rng.random(logits.shape) < 0.3] = -np.inf
    if kind == "far":
        logits *= 40
    return logits.astype(np.float32)


def check(found, logits, classes):  # type: ignore[no-untyped-def]
    """`found` of float32 logits [B, V], which are what the kernel was given, exactly."""
    highest, tokens, sums = (tensor.cpu().numpy() for tensor in found)
    assert highest.shape == tokens.shape == sums.shape == (len(logits), classes.count)
    for row, values in enumerate(logits):
        expected = reference.class_best(values, classes.of, classes.count)
        np.testing.assert_array_equal(highest[row], expected[0])
        np.testing.assert_array_equal(tokens[row], expected[1])
        with np.errstate(divide="ignore"):
            logs = highest[row].astype(float) + np.log(sums[row].astype(float))
        np.testing.assert_allclose(logs, expected[2], rtol=0, atol=4e-6)


@pytest.mark.parametrize("kind", ["plain", "ties", "infinite", "wrong", "far"])
@pytest.mark.parametrize("sizes", SIZES)
def test_equals_the_reference(sizes, kind, device):
    rng = np.random.default_rng(len(sizes) + len(kind))
    classes = Classes(SIZES[sizes], rng, device)
    logits = some_logits(rng, 2, len(classes.of), kind)
    check(class_best(torch.from_numpy(logits).to(device), classes.pieces), logits, classes)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype, device):
    """Half-width logits have ties everywhere."""
    rng = np.random.default_rng(1)
    classes = Classes(SIZES["one of everything"], rng, device)
    logits = torch.from_numpy(some_logits(rng, 2, len(classes.of), "infinite")).to(dtype)
    check(class_best(logits.to(device), classes.pieces), logits.float().numpy(), classes)


@pytest.mark.parametrize("layout", ["transposed", "wider", "steps"])
def test_any_strides_and_columns_without_a_token(layout, device):
    rng = np.random.default_rng(2)
    classes = Classes([700, 3, 90], rng, device)
    logits = some_logits(rng, 3, len(classes.of), "plain")
    there = torch.from_numpy(logits).to(device)
    junk = torch.full_like(there, torch.nan)
    given = {
        "transposed": there.T.contiguous().T,
        "wider": torch.cat([there, junk], 1),
        "steps": torch.stack([there, junk], 2)[:, :, 0],
    }
    check(class_best(given[layout], classes.pieces), logits, classes)


def test_some_rows(device):
    rng = np.random.default_rng(3)
    classes = Classes([1200, 30, 1], rng, device)
    logits = some_logits(rng, 6, len(classes.of), "plain")
    rows = [4, 0, 4]
    found = class_best(torch.from_numpy(logits).to(device), classes.pieces, torch.tensor(rows, device=device))
    check(found, logits[rows], classes)
    none = class_best(torch.from_numpy(logits).to(device), classes.pieces, torch.tensor([], device=device).long())
    assert none.highest.shape == (0, 3)


def test_a_row_has_the_same_bits_in_every_batch(device):
    rng = np.random.default_rng(4)
    classes = Classes([5000, 200, 3], rng, device)
    logits = torch.from_numpy(some_logits(rng, 5, len(classes.of), "plain")).to(device)
    batch, alone = class_best(logits, classes.pieces), class_best(logits[3:4], classes.pieces)
    for several, one in zip(batch, alone, strict=True):
        assert several[3].cpu().numpy().tobytes() == one[0].cpu().numpy().tobytes()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([0, 1, 2, 15, 16, 17, 33, 127, 128, 200, 1023, 1024, 1030]), min_size=1, max_size=12).filter(any),
    st.sampled_from(["plain", "ties", "infinite", "wrong", "far"]),
    st.integers(0, 99),
)  # fmt: skip
def test_any_classes(sizes, kind, seed):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rng = np.random.default_rng(seed)
    classes = Classes(sizes, rng, device)
    logits = some_logits(rng, 1, len(classes.of), kind)
    check(class_best(torch.from_numpy(logits).to(device), classes.pieces), logits, classes)


@pytest.mark.parametrize("kind", ["plain", "ties", "infinite", "far"])
def test_drawn(kind, device):
    """Whatever the share, the token that the reference draws, wherever float32 can tell; and of no share the first that can be."""
    rng = np.random.default_rng(5)
    classes = Classes([9000, 1, 40, 4096, 300], rng, device)  # three blocks, and exactly one
    logits = some_logits(rng, 3, len(classes.of), kind)
    shares = [(0, 0), (0, 0.003), (0, 0.6), (0, 0.9999999), (1, 0.5), (2, 0.2), (3, 0.9), (4, 0.5)]
    draws = [(row, of, u) for row in range(3) for of, u in shares]
    rows = torch.tensor([row for row, _, _ in draws], device=device)
    there = torch.from_numpy(logits).to(device)
    found = drawn_members(
        there, classes.pieces, ClassBest(*(tensor[rows] for tensor in class_best(there, classes.pieces))),
        torch.tensor([of for _, of, _ in draws], device=device), torch.tensor([float(u) for _, _, u in draws], device=device), rows,
    ).tolist()  # fmt: skip
    compared = 0
    for (row, of, u), token in zip(draws, found, strict=True):
        members = classes.members(of)
        assert token in members
        if logits[row, members].max() == -np.inf:
            assert token == members[0]
            continue
        assert logits[row, token] > -np.inf
        expected, margin = reference.drawn_token(logits[row], members, float(np.float32(u)))
        if margin > 1e-5 and (u > 0 or kind == "plain"):
            compared += 1
            assert token == expected
    assert compared > 8


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="takes minutes in Triton's interpreter")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_batch_as_large_as_those_of_models(dtype, device):
    """One class of most tokens and thousands of others; and more classes than 16 bits count."""
    rng = np.random.default_rng(6)
    for sizes in ([100_000, *rng.multinomial(28_000, rng.dirichlet(np.full(900, 0.3))), *[1] * 256], [1] * 70_000):
        classes = Classes(sizes, rng, device)
        logits = torch.from_numpy(some_logits(rng, 9, len(classes.of), "infinite")).to(dtype)
        check(class_best(logits.to(device), classes.pieces), logits.float().numpy(), classes)
