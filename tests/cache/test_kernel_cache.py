"""The disk cache of the kernels, seen from fresh processes: a second one compiles nothing, an edit is noticed, the host's own
cache stays where it was, and a cache that cannot be used costs time only.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numba
import pytest
from numba.extending import overload

import grammarlm
import grammarlm as gl
from grammarlm.cache import cache_folder
from grammarlm.kernels.cpu import jit
from grammarlm.kernels.cpu.jit import part
from grammarlm.masks.runtime.limits import Clock

PACKAGE = Path(grammarlm.__file__).parent

LOAD_ALL = """
import json, sys
import numpy as np, torch
import grammarlm as gl
from grammarlm.kernels import entries
from grammarlm.kernels.cpu import jit

entries.load(*([] if "all" in sys.argv else ["masks", "canonical", "logits", "csr"]))
for dtype in (torch.float32, torch.float16, torch.bfloat16):       # ordinary calls find what load prepared
    assert torch.isneginf(gl.apply_mask_(torch.zeros(2, 70, dtype=dtype), np.zeros((2, 3), np.int32), rows=[1, 0])).all()
kernels = [d for d in jit.SIGNATURES if d.overloads]
print(json.dumps({
    "folder": str(jit.kernel_folder()),
    "paths": [d.stats.cache_path for d in kernels],
    "hits": {d.py_func.__qualname__: sum(d.stats.cache_hits.values()) for d in kernels},
    "misses": {d.py_func.__qualname__: sum(d.stats.cache_misses.values()) for d in kernels},
}))
"""

# A package with the real jit.py and two modules beside it: a kernel, and a function that it calls.
PROBE = {
    "__init__.py": "",
    "grammarlm/__init__.py": "",
    "grammarlm/kernels/__init__.py": "",
    "grammarlm/kernels/cpu/__init__.py": "",
    "grammarlm/kernels/cpu/answer.py": """
        import numba
        @numba.njit
        def answer():
            return 1
        """,
    "grammarlm/kernels/cpu/probe.py": """
        from grammarlm.kernels.cpu.answer import answer
        from grammarlm.kernels.cpu.jit import kernel, part
        @part
        def plus(x, y):
            return x + y
        @kernel("int64(int64)")
        def probe(x):
            return plus(x, answer())
        """,
    "host.py": """
        import numba
        from grammarlm.kernels.cpu.probe import probe
        before = numba.config.CACHE_DIR
        @numba.njit(cache=True)
        def host(x):
            return x + 1
        assert host(1) == 2 and probe(1) >= 2
        @numba.njit(cache=True)
        def later(x):
            return x + 2
        print(probe(10), sum(probe.stats.cache_hits.values()), probe.stats.cache_path)
        print(numba.config.CACHE_DIR == before, host.stats.cache_path, later.stats.cache_path)
        """,
}


def python(*arguments, cache, cwd=None, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "GRAMMARLM_"))}
    environment |= {
        "GRAMMARLM_CACHE": str(cache),
        "GRAMMARLM_KERNELS": "numba",
        "PYTHONPATH": str(cwd or PACKAGE.parent),
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit within a second, of equal length, is none to Python
        **variables,
    }
    command = [sys.executable, "-W", "ignore", *arguments]
    return subprocess.run(command, env=environment, cwd=cwd, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same process twice with one cache folder that is empty at first: (the folder, first, second). Large kernels: below."""
    cache = tmp_path_factory.mktemp("cache")
    return cache, *(python("-c", LOAD_ALL, cache=cache) for _ in range(2))


@pytest.fixture
def probe(tmp_path):
    """The folder of the probe package, and a function that runs it: (sum, hits, cache path), (same, host, later)."""
    root = tmp_path / "probe"
    for name, text in PROBE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text))
    kernels = ("kernels/cpu/jit.py", "kernels/cpu/linked.py", "kernels/cpu/constants.py", "layout/constants.py")
    for name in ("cache.py", "errors.py", "notices.py", "version.py", *kernels):
        (root / "grammarlm" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, root / "grammarlm" / name)

    def run(cache=tmp_path / "cache"):
        return [line.split() for line in python("host.py", cache=cache, cwd=root).stdout.splitlines()]

    return root, run


@pytest.mark.parametrize(
    ("which", "some"),
    [
        pytest.param([], {"fill_row", "apply_mask_32"}, id="small kernels"),
        pytest.param(["all"], {"ask", "json_call", "apply_mask_32"}, id="all", marks=pytest.mark.proof),
    ],
)
def test_no_kernel_is_compiled_twice(which, some):
    """In the folder that all tests share: where they compile their kernels, these are not compiled for this test again."""
    second = json.loads(python("-c", LOAD_ALL, *which, cache=cache_folder()).stdout)
    if any(second["misses"].values()):  # this was the first
        second = json.loads(python("-c", LOAD_ALL, *which, cache=cache_folder()).stdout)
    assert set(second["misses"].values()) == {0}
    assert set(second["hits"].values()) == {1}
    assert some <= set(second["hits"])


@pytest.mark.proof
def test_one_line_of_progress_where_something_compiles(runs):
    _, first, second = runs
    """In a pipe, without any setting. Kernels that take long have a line each, and one that nobody needs is not compiled."""
    first_line, *others = first.stderr.splitlines()
    assert re.fullmatch(r"grammarlm: compiling kernels, once \(about \d+ s\) \.\.\.", first_line)
    assert all(
        re.fullmatch(r"grammarlm: compiling the kernel \w+, once \(about \d\d s\) \.\.\.", line) for line in others
    )
    assert len(others) == len(set(others)) < 4
    assert second.stderr == ""


def test_an_edit_of_a_called_function_is_noticed(probe):
    root, run = probe
    (first, hits, folder), _ = run()
    assert (first, hits) == ("11", "0")
    assert run()[0] == ["11", "1", folder]
    source = root / "grammarlm/kernels/cpu/answer.py"
    source.write_text(source.read_text().replace("return 1", "return 2"))
    edited, hits, other_folder = run()[0]
    assert (edited, hits) == ("12", "0")
    assert other_folder != folder


def test_the_cache_of_the_host_stays_its_own(probe):
    root, run = probe
    _, (unchanged, host, later) = run()
    assert unchanged == "True"
    assert host == later == str(root / "__pycache__")


def test_only_compiled_functions_call_a_part():
    @part
    def twice(x):
        return x + x

    @numba.njit
    def four_times(x):
        return twice(twice(x))

    assert four_times(3) == 12
    with pytest.raises(TypeError):
        twice(3)


def test_what_is_compiled_does_not_count_against_limits(monkeypatch, tmp_path):
    """A first `compile` on a machine took 14 seconds for a kernel, and was refused for it: max_ms is for the grammar."""
    monkeypatch.setattr(jit, "KERNELS", [])
    monkeypatch.setattr(jit, "SECONDS", {})
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.kernel()
    def one_less(x):
        return x - 1

    def more(x):
        return x + 1

    @overload(more)
    def _compile_slowly(x):
        time.sleep(0.3)
        return lambda x: x + 1

    @jit.kernel()
    def one_more(x):
        return more(x)

    assert one_less(1) == 0  # numba prepares itself at the first compilation of a process: not a kernel's time
    clock = Clock(gl.Limits(max_ms=200))
    assert one_more(1) == 2
    clock.check()
    time.sleep(0.3)
    with pytest.raises(gl.LimitExceeded, match="max_ms = 200"):
        clock.check()


def test_a_folder_that_cannot_be_written(probe, tmp_path):
    _, run = probe
    (tmp_path / "file").write_text("not a folder")
    assert run(tmp_path / "file" / "cache")[0][:2] == ["11", "0"]


def test_a_folder_that_cannot_be_written_is_said_once(probe, tmp_path):
    root, _ = probe
    (tmp_path / "file").write_text("not a folder")
    (root / "writes.py").write_text(
        "from grammarlm.cache import cache_folder, write_atomically\n"
        "from grammarlm.kernels.cpu.probe import probe\n"
        "print(probe(1), [write_atomically(cache_folder() / name, b'') for name in 'ab'])\n"
    )
    ran = python("writes.py", cache=tmp_path / "file" / "cache", cwd=root)
    assert ran.stdout == "2 [False, False]\n"
    compiling, unwritable = ran.stderr.splitlines()
    assert unwritable.startswith(
        f"grammarlm: the cache folder {tmp_path / 'file' / 'cache'} cannot be written (Not a directory)"
    )
    assert unwritable.endswith("set GRAMMARLM_CACHE to a folder that can be")
    assert "compiling" in compiling
    fine = python("writes.py", cache=tmp_path / "new", cwd=root)
    assert fine.stdout == "2 [True, True]\n"
    assert len(fine.stderr.splitlines()) == 1


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"], ids=["index", "code"])
def test_a_damaged_file_is_replaced(probe, tmp_path, kind):
    _, run = probe
    run()
    (damaged,) = (tmp_path / "cache").rglob(kind)
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert run()[0][:2] == ["11", "0"]
    assert run()[0][:2] == ["11", "1"]


PAIR = """
from grammarlm.kernels.cpu.jit import kernel
@kernel("int64(int64)")
def one(x):
    return x + 1
@kernel("int64(int64)")
def two(x):
    return x + 2
@kernel()
def wide(x):
    return x + 3
"""
ASKED = """
import numpy as np
from grammarlm.kernels.cpu.pair import one, two, wide
print(one(10), two(10), wide(10), wide(np.float32(10)), sum(sum(k.stats.cache_hits.values()) for k in (one, two, wide)))
"""


def test_files_under_each_others_names_are_not_run(probe, tmp_path):
    """The code of another kernel, and that for other types, is compiled again."""
    root, _ = probe
    (root / "grammarlm/kernels/cpu/pair.py").write_text(PAIR)
    cache = tmp_path / "cache"

    def run():
        return python("-c", ASKED, cache=cache, cwd=root).stdout.split()

    run()
    whole = {path: path.read_bytes() for path in cache.rglob("pair.*") if path.is_file()}
    assert run() == ["11", "12", "13", "13.0", "4"]
    data = sorted(path for path in whole if path.suffix == ".nbc")
    index = sorted(path for path in whole if path.suffix == ".nbi")
    assert (len(data), len(index)) == (4, 3)
    for paths in (data[:2], data[2:], index[:2]):
        for path, other in zip(paths, reversed(paths), strict=True):
            path.write_bytes(whole[other])
        assert run()[:4] == ["11", "12", "13", "13.0"], paths
        assert run() == ["11", "12", "13", "13.0", "4"]
        whole = {path: path.read_bytes() for path in whole}
