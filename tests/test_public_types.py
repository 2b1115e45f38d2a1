"""__init__.pyi says of the public names what __init__.py does at run time."""

import ast
import inspect
from pathlib import Path

import pytest

import grammarlm as gl

STUB = ast.parse(Path(gl.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))


def test_the_same_names_from_the_same_modules() -> None:
    found = {}
    for node in STUB.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            found |= {alias.asname: f"{node.module}.{alias.name}" for alias in node.names if alias.asname}
    found["generate"] = "decoding.generate.generate"
    homes = {name: f"{home.removeprefix('.')}.{name}" for name, home in gl._HOME.items()}
    assert found == homes


@pytest.mark.parametrize("overload", [node for node in STUB.body if isinstance(node, ast.FunctionDef)])
def test_overloads_have_the_arguments_of_the_function(overload: ast.FunctionDef) -> None:
    assert overload.name == "generate"
    signature = inspect.signature(gl.generate)
    arguments = overload.args
    names = [one.arg for one in (*arguments.args, *arguments.kwonlyargs, arguments.kwarg) if one is not None]
    assert names == list(signature.parameters)
    for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if isinstance(default, ast.Constant) and default.value is not ...:
            assert default.value == signature.parameters[name.arg].default, name.arg
        annotation = signature.parameters[name.arg].annotation
        assert name.arg == "n" or ast.unparse(name.annotation) == annotation, name.arg  # type: ignore[arg-type]
