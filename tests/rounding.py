"""How near two floats must be, where a test compares them: docs/decisions/tolerances.md lists every tolerance.

A law about logic is held by models in float64. Then on any processor only a few numbers are rounded to float32: the logits when
they are handed out, and what transformers computes in it whatever the weights are (norms, a residual, Mamba's states). In float32
each sum would round, in an order of the processor's own: some 2 sqrt(n) units in the last place for n terms (Higham, Mary, 2019).
"""

from typing import Any

import pytest

EPSILON = 2.0**-23  # between 1 and the next float32
ROUNDINGS = 32  # units in the last place of the largest logit; what readers are off is below one, but for Mamba
LARGEST = 32.0  # no logit of these models is larger
LOG_P = (
    2 * LARGEST * EPSILON
)  # a logit and the sum of all, each off by half a unit in what is found and in what is expected
P = LOG_P / 2  # p is off by 2 p (1 - p) times what logits are


def embedded_model(**which: bool) -> Any:
    """`gl.load_tiny`, in float64."""
    import grammarlm as gl

    model, tokenizer = gl.load_tiny(**which)
    return model.double(), tokenizer


def assert_logits(found: Any, expected: Any) -> None:
    """Logits that two ways of reading give, as tensors of one shape."""
    torch = pytest.importorskip("torch")
    largest = float(expected.detach()[expected.isfinite()].abs().max())
    torch.testing.assert_close(
        found.double(), expected.detach().double(), rtol=0, atol=ROUNDINGS * EPSILON * max(largest, 1.0)
    )
