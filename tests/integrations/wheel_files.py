"""An engine's own files, out of a wheel that cannot be installed here: some run, the rest of the engine is a stand-in.

A stand-in's names are empty classes; what the files ask of them is given by name.
"""

import ast
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Collection, Mapping, Sequence
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

from packaging.utils import parse_wheel_filename


class Files:
    """The files of the newest wheel in a folder."""

    def __init__(self, folder: str):
        *_, newest = sorted(Path(folder).glob("*.whl"), key=lambda path: parse_wheel_filename(path.name)[1])
        self._wheel = ZipFile(newest)
        self.version = str(parse_wheel_filename(newest.name)[1])

    def read(self, name: str) -> str:
        """The text of a file; FileNotFoundError where there is none."""
        try:
            return self._wheel.read(name).decode()
        except KeyError:
            raise FileNotFoundError(name) from None

    def module(self, name: str) -> tuple[str, bool]:
        """The text of a module, and whether it is a package."""
        path = name.replace(".", "/")
        try:
            return self.read(f"{path}/__init__.py"), True
        except FileNotFoundError:
            return self.read(f"{path}.py"), False

    def tree(self, module: str) -> ast.Module:
        return ast.parse(self.module(module)[0])

    def function(self, name: str, path: str, **names: Any) -> Any:
        """One function or method out of a file that cannot be imported; `names` are those that it uses."""
        tree = ast.parse(self.read(path))
        found = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
        found.decorator_list = []
        for node in ast.walk(found):
            if isinstance(node, ast.arg):
                node.annotation = None
            elif isinstance(node, ast.FunctionDef):
                node.returns = None
        module = module_from_spec(importlib.machinery.ModuleSpec(name, None))
        vars(module).update(names)
        exec(compile(ast.Module([found], []), path, "exec"), vars(module))  # the engine's own lines are what is tested
        function = vars(module)[name]
        assert isinstance(function, types.FunctionType)
        return function


class Engine(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a package of which the modules in `real` are the files' own. `given`: names of stand-ins, wherever they are asked
    for."""

    def __init__(self, package: str, files: Files, real: Collection[str], given: Mapping[str, Any]):
        self.package, self.files, self.real, self.given = package, files, real, given

    def install(self) -> None:
        if not any(isinstance(finder, Engine) and finder.package == self.package for finder in sys.meta_path):
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name != self.package and not name.startswith(f"{self.package}."):
            return None
        is_package = self.files.module(name)[1] if name in self.real else True
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None if spec.name in self.real else StandIn(spec.name, self)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in self.real:
            exec(compile(self.files.module(module.__name__)[0], module.__name__, "exec"), vars(module))


class StandIn(ModuleType):
    def __init__(self, name: str, engine: Engine):
        super().__init__(name)
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        engine = self._engine
        is_module = any(f"{real}.".startswith(f"{self.__name__}.{name}.") for real in engine.real)
        if is_module or (name.startswith("__") and name not in engine.given):
            raise AttributeError(name)
        made = engine.given[name] if name in engine.given else type(name, (), {})
        setattr(self, name, made)
        return made
