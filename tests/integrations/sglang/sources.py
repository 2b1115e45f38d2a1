"""SGLang's own files about grammars, run without the rest of it, which needs a GPU to be installed.

What they import besides is a stand-in: its names are empty classes, and the settings that they ask for are in `SETTINGS`.
"""

import ast
import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

FOLDER = Path(os.environ["GRAMMARLM_SGLANG"])
REAL = {
    "sglang.srt.constrained.base_grammar_backend",
    "sglang.srt.constrained.grammar_manager",
    "sglang.srt.constrained.reasoner_grammar_backend",
    "sglang.srt.arg_groups.choices",
    "sglang.srt.environ",
}
SETTINGS = SimpleNamespace(
    kernel=SimpleNamespace(grammar_backend="grammarlm"),
    reasoning_parser=None,
    enable_strict_thinking=False,
    skip_tokenizer_init=False,
    pp_rank=0,
    pp_size=1,
    buffers={},
)
ASKED = {name: lambda: SETTINGS for name in ("get_exec", "get_serving", "get_parallel", "get_resources", "get_context")}


class StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or any(f"{real}.".startswith(f"{self.__name__}.{name}.") for real in REAL):
            raise AttributeError(name)  # a module
        made = ASKED.get(name) or type(name, (), {})
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name != "sglang" and not name.startswith("sglang."):
            return None
        if name in REAL:
            return spec_from_file_location(name, FOLDER / f"{name.replace('.', '/')}.py")
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


def function_of(file: str, name: str, **names: Any) -> Any:
    """One function or method out of a file that cannot be imported; `names` are those that it uses."""
    tree = ast.parse((FOLDER / file).read_text())
    found = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    found.decorator_list = []
    for node in ast.walk(found):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    module = module_from_spec(importlib.machinery.ModuleSpec(name, None))
    vars(module).update(names)
    exec(compile(ast.Module([found], []), file, "exec"), vars(module))  # SGLang's own lines are what is tested
    function = vars(module)[name]
    assert isinstance(function, types.FunctionType)
    return function
