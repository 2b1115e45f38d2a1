"""The front door: cheap to import, complete, and helpful about names that do not exist."""

import subprocess
import sys

import pytest

import grammarlm as gl


def test_every_public_name_resolves() -> None:
    assert gl.__all__ == sorted(gl.__all__)
    for name in gl.__all__:
        assert getattr(gl, name) is not None
    assert dir(gl) == gl.__all__


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'Regexp'; did you mean gl.Regex"):
        _ = gl.Regexp


def test_masks_need_neither_torch_nor_transformers() -> None:
    code = """
import sys
import grammarlm as gl
assert "numpy" not in sys.modules, "import grammarlm alone imports numpy"
vocab = gl.Vocabulary([bytes([i]) for i in range(256)] + [b""], stop_ids=[256])
gl.compile(gl.Regex("a+") | gl.Choices(["b"]), vocab).matcher().fill_mask(gl.allocate_mask(1, vocab.size))
found = {"torch", "transformers", "triton", "tokenizers", "rich", "lark"} & set(sys.modules)
assert not found, found
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_errors_are_one_tree() -> None:
    for kind in (gl.UnsupportedFeature, gl.UnsatisfiableGrammar, gl.LimitExceeded):
        assert issubclass(kind, gl.GrammarError)
    assert issubclass(gl.GrammarError, ValueError)
    assert len(str(gl.GrammarError("x" * 10_000))) <= 500
