"""__init__.pyi says of the public names what __init__.py does at run time."""

import ast
import inspect
from pathlib import Path

import grammarlm as gl

STUB = ast.parse(Path(gl.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))


def test_the_same_names_from_the_same_modules() -> None:
    found = {}
    for node in STUB.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            found |= {alias.asname: f"{node.module}.{alias.name}" for alias in node.names if alias.asname}
    found |= {name: f"decoding.{name}.{name}" for name in ("generate", "stream")}
    found |= {name: f"decoding.live.asynchronous.{name}" for name in ("agenerate", "astream")}
    homes = {name: f"{home.removeprefix('.')}.{name}" for name, home in gl._HOME.items()}
    assert found == homes


def test_the_settings_are_those_of_the_function() -> None:
    """What an answer's type depends on stands in the signatures, of which the last one takes whatever may be given."""
    [settings] = [node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == "_Settings"]
    types = {node.target.id: ast.unparse(node.annotation) for node in settings.body if isinstance(node, ast.AnnAssign)}
    [named] = [node.value for node in STUB.body if isinstance(node, ast.Assign) and node.targets[0].id == "_Choices"]
    [stream] = [node for node in STUB.body if isinstance(node, ast.FunctionDef) and node.name == "stream"]
    own = {one.arg: ast.unparse(one.annotation) for one in stream.args.kwonlyargs if one.arg != "n"}
    types |= own | {"choices": ast.unparse(named)}
    for function in (gl.generate, gl.stream, gl.agenerate, gl.astream):
        parameters = inspect.signature(function).parameters.values()
        assert types == {
            one.name: one.annotation
            for one in parameters
            if one.kind is one.KEYWORD_ONLY and one.name not in ("n", "max_waiting")
        }
