"""Without the engine that it plugs into, a module says what to install."""

from importlib import import_module
from importlib.util import find_spec

import pytest


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_what_to_install(engine: str) -> None:
    if find_spec(engine) is not None:
        pytest.skip(f"{engine} is installed")
    with pytest.raises(ImportError, match=f"which is not installed: pip install {engine}"):
        import_module(f"grammarlm.integrations.{engine}")
