"""Kernel tests run on the CUDA device where there is one, and in Triton's interpreter on the CPU where there is none."""

import importlib.util
import os
import sys

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
    # Triton decides at import whether its own functions are interpreted. Whoever imported it before this file (torch and
    # transformers do, along the way) got compiled ones, which no interpreted kernel can call: let the next import decide anew.
    for name in list(sys.modules):
        compiled = name.split(".")[0] == "triton" and not name.startswith("triton._C")
        if compiled or name.startswith("grammarlm.kernels.gpu"):
            del sys.modules[name]


@pytest.fixture(scope="session")
def device() -> torch.device:
    """Where the GPU kernels run."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed: pip install grammarlm[gpu]")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
