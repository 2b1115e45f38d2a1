"""The library of compiled kernels: which one is used, and what happens where it cannot be."""

import ast
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import grammarlm
from grammarlm.cache import sources_digest
from grammarlm.kernels import entries

PACKAGE = Path(grammarlm.__file__).parent
KERNELS = PACKAGE / "kernels" / "cpu"
HAS_LIBRARY = entries.LIBRARY.exists() and entries.are_shipped()
LOOK = """
import sys
from grammarlm.kernels import entries
import numpy as np
row = np.arange(8, dtype=np.int32)
print(entries.are_shipped(), entries.row_key(entries.address_of(row), 8), "numba" in sys.modules)
"""


def test_each_kernel_is_listed_once_with_its_module() -> None:
    found = {}
    for path in KERNELS.rglob("*.py"):
        module = path.relative_to(KERNELS).with_suffix("").as_posix().replace("/", ".")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(one, ast.Call) and getattr(one.func, "id", "") == "kernel" for one in node.decorator_list
            ):
                assert node.name not in found
                found[node.name] = module
    assert found == entries.MODULES
    assert sum(map(len, entries.GROUPS.values())) == len(entries.MODULES)


def test_an_unknown_kernel_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_kernel"):
        entries.no_such_kernel(1)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all processes here: one compiles."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def copy(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what kernels need; without a library."""
    root = tmp_path / "copy"
    monkeypatch.setenv("SHARED_CACHE", str(cache))
    for name in ("kernels/cpu", "layout"):
        shutil.copytree(PACKAGE / name, root / "grammarlm" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("kernels/__init__.py", "kernels/entries.py", "cache.py", "errors.py", "notices.py", "version.py"):
        shutil.copy(PACKAGE / name, root / "grammarlm" / name)
    (root / "grammarlm" / "__init__.py").write_text("")
    return root


def look(root: Path, without_numba: bool = False, **variables: str) -> tuple[list[str], str]:
    """What a process prints that calls a kernel, and what it says on stderr."""
    if without_numba:
        (root / "numba.py").write_text("raise ImportError('No module named numba')")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRAMMARLM_")}
    environment |= {"PYTHONPATH": str(root), "GRAMMARLM_CACHE": os.environ["SHARED_CACHE"], **variables}
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.split(), done.stderr


def put(root: Path, content: bytes, **facts: object) -> Path:
    """A library with its facts, which are true unless others are given."""
    path = root / "grammarlm" / "kernels" / "shipped.abi3.so"
    path.write_bytes(content)
    known = {"sources": sources_digest(*entries.SOURCES), "size": len(content), "crc32": zlib.crc32(content), **facts}
    path.with_name(entries.FACTS).write_text("".join(f"{name} {value}\n" for name, value in known.items()))
    return path


def test_without_a_library_numba_compiles(copy: Path) -> None:
    (is_shipped, _, has_numba), said = look(copy)
    assert (is_shipped, has_numba) == ("False", "True")
    assert "cannot be used" not in said


def test_without_either_the_error_says_what_to_install(copy: Path) -> None:
    printed, said = look(copy, without_numba=True)
    assert printed == []
    assert (
        "MissingPackage: the kernel row_key has to be compiled, since there is no library of compiled kernels" in said
    )
    assert "pip install 'grammarlm[numba]'" in said


@pytest.mark.parametrize(
    ("content", "facts", "why"),
    [
        (b"", {}, "cannot be used"),
        (b"\x7fELF" + bytes(100), {}, "cannot be used"),
        (b"no library", {}, "cannot be used"),
        (b"anything", {"sources": "0" * 64}, "it was made from other sources"),
        (b"anything", {"size": 7}, "it is damaged"),
        (b"anything", {"crc32": 1}, "it is damaged"),
    ],
)
def test_what_is_no_library_is_named_and_not_loaded(copy: Path, content: bytes, facts: dict, why: str) -> None:
    path = put(copy, content, **facts)
    (is_shipped, _, has_numba), said = look(copy)
    assert (is_shipped, has_numba) == ("False", "True")
    lines = [line for line in said.splitlines() if "cannot be used" in line]
    assert len(lines) == 1
    assert str(path) in lines[0]
    assert why in lines[0]
    printed, said = look(copy, GRAMMARLM_KERNELS="shipped")
    assert printed == []
    assert why in said


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.proof)])
def test_facts_that_are_missing_or_damaged(step: int, copy: Path) -> None:
    path = put(copy, b"anything")
    for text in (None, "", "sources\n", "sources 1 2\n", "\xff")[::step]:
        facts = path.with_name(entries.FACTS)
        facts.unlink(missing_ok=True)
        if text is not None:
            facts.write_text(text, encoding="latin-1")
        (is_shipped, _, _), said = look(copy)
        assert is_shipped == "False"
        assert "cannot be used" in said


@pytest.mark.skipif(not HAS_LIBRARY, reason="there is no library of these sources here: make kernels")
def test_the_library_needs_no_numba_and_calls_the_same(copy: Path) -> None:
    for name in (entries.LIBRARY.name, entries.FACTS):
        shutil.copy(PACKAGE / "kernels" / name, copy / "grammarlm" / "kernels" / name)
    (is_shipped, key, has_numba), said = look(copy)
    assert (is_shipped, has_numba, said) == ("True", "False", "")
    assert look(copy, GRAMMARLM_KERNELS="numba")[0] == ["False", key, "True"]
    assert look(copy, without_numba=True)[0] == ["True", key, "False"]
    source = copy / "grammarlm" / "layout" / "table.py"
    source.write_text(source.read_text() + "# edited\n")
    printed, said = look(copy, without_numba=True)
    assert printed == []
    assert "it was made from other sources" in said


@pytest.mark.skipif(not HAS_LIBRARY, reason="there is no library of these sources here: make kernels")
@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.proof)])
def test_a_damaged_library_is_not_loaded(step: int, copy: Path) -> None:
    content = entries.LIBRARY.read_bytes()
    facts = {"size": len(content), "crc32": zlib.crc32(content)}
    for damaged in (content[:-1], content[: len(content) // 2], content[:-1] + b"?", content + b"?")[::step]:
        put(copy, damaged, **facts)
        (is_shipped, _, _), said = look(copy)
        assert is_shipped == "False"
        assert "it is damaged" in said
    put(copy, content.replace(b"row_key", b"row_kez"))
    (is_shipped, _, _), said = look(copy)
    assert is_shipped == "False"
    assert "these kernels are missing: row_key" in said


@pytest.mark.skipif(not HAS_LIBRARY, reason="there is no library of these sources here: make kernels")
def test_arguments_that_are_no_integers_are_refused() -> None:
    for arguments, words in (((), "takes 2 integers, not 0"), ((1, 2, 3), "not 3")):
        with pytest.raises(TypeError, match=words):
            entries.row_key(*arguments)
    for wrong in ("1", 1.5, None, [1]):
        with pytest.raises(TypeError):
            entries.row_key(0, wrong)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        entries.row_key(1 << 70, 0)
