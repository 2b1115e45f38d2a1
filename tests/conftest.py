"""Fixed seeds; no collection of what stays anyway; and before two workers start, two processes compile all kernels: else each
worker would compile all of them.
"""

import gc
import os
import subprocess
import sys

import hypothesis
import pytest

# A run of the suite finds what the one before found; new cases are for `make proof` and `make fuzz`.
hypothesis.settings.register_profile("fixed seeds", derandomize=True, database=None)
hypothesis.settings.load_profile("fixed seeds")

START = "from grammarlm.kernels.cpu.jit import load_all; "
COMMANDS = (
    START + "from grammarlm.kernels.cpu.json.call import json_call; load_all([json_call])",
    START + "import importlib, pkgutil, grammarlm.kernels.cpu as cpu; from grammarlm.kernels.cpu.jit import KERNELS; "
    "[importlib.import_module(m.name) for m in pkgutil.walk_packages(cpu.__path__, cpu.__name__ + '.')]; "
    "load_all([k for k in KERNELS if k.__name__ != 'json_call'])",
)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker a core: more threads would wait for each other
    elif getattr(session.config.option, "numprocesses", None):
        for process in [subprocess.Popen([sys.executable, "-c", command]) for command in COMMANDS]:
            if process.wait() != 0:
                raise pytest.UsageError("the kernels do not compile: see above")


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()  # modules and tests: each full collection would look at all of them again


def pytest_sessionfinish(session: pytest.Session) -> None:
    gc.unfreeze()  # else bindings report all that was frozen as leaked
