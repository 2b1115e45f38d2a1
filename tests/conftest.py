"""Fixed seeds; no collection of what stays anyway; and before two workers start, two processes compile all kernels: else each
worker would compile all of them.
"""

import gc
import os
import subprocess
import sys
from types import FunctionType

import hypothesis
import pytest

# A run of the suite finds what the one before found; new cases are for `make proof` and `make fuzz`.
hypothesis.settings.register_profile(
    "fixed seeds",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # a busy machine is no fault of a test
)
hypothesis.settings.load_profile("fixed seeds")

START = "from grammarlm.kernels.entries import GROUPS, load; "
HALF = "{'json', 'json_canvas', 'items'}"  # of the time
COMMANDS = (START + f"load(*{HALF})", START + f"load(*set(GROUPS) - {HALF})")


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


@pytest.fixture(scope="module")
def only_new_objects() -> None:
    """For tests that collect garbage: a worker holds millions of objects of other tests, a second for each full collection."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    gc.unfreeze()  # else bindings report all that was frozen as leaked


def pytest_make_parametrize_id(val: object) -> str | None:
    """Functions by their names: with addresses, as `repr` has them, workers would collect different tests."""
    return str(getattr(val, "__name__", "function")) if isinstance(val, FunctionType) else None
