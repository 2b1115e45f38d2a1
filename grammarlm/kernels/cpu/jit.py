"""Compilation of all CPU kernels: one decorator, one disk cache, one list.

A kernel is a numba function over arrays and integers. Unless `holds_gil`, it runs without the GIL, so Python threads run in
parallel:

    @kernel("void(int64, int64, int64)")           # compiled at the first use, not at import
    def add_one(address, count, by):
        numbers = carray(pointer(address), count, np.int32)
        for i in range(count):
            numbers[i] = twice(numbers[i]) + by

    @inlined                                        # inlined into the kernels that call it, no kernel of its own
    def twice(x):
        return x + x

Integers are the cheapest arguments, and the only ones that a kernel compiled ahead of time takes (kernels/entries.py). An address
comes from `tensor.data_ptr()` or `entries.address_of(array)`; `pointer` and `numba.carray` turn it back into an array. There is no
bounds checking, and the caller keeps the memory alive.

Python calls kernels as attributes of kernels/entries.py, which lists them; nothing else imports these modules.

Compiled code is stored in `cache_folder("numba", <hash>)`. The hash covers every source file of this folder and those of layout/,
because numba alone does not notice an edit in a function that a cached one calls. So everything a kernel calls must be in this
folder, at module level: numba keys a closure by a pickle that can differ at each start. The cache is attached to our dispatchers
only; numba.config, and with it the host application's cache, is unchanged. A read-only folder, a full disk or a damaged file costs
only a compilation.
"""

import contextlib
import functools
import hashlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, cgutils, sigutils, types
from numba.extending import intrinsic

from grammarlm.cache import FILLING, cache_folder, sources_digest, tell_unwritable
from grammarlm.notices import warn

from . import constants  # noqa: F401  registers the types of the constants of layout/ with numba
from .linked import compile_linked

LOGGER = logging.getLogger("grammarlm.kernels")
KERNELS: list[Any] = []  # every dispatcher that `kernel` made, in order of definition
SIGNATURES: dict[Any, str] = {}  # dispatcher -> its signature, if given
SECONDS: dict[Any, int] = {}  # rough compile time of each, for progress messages only
SECONDS_A_KERNEL, LONG = 2, 10  # of an ordinary one; from LONG on a kernel has its own message


def kernel(
    signature: str | None = None, *, holds_gil: bool = False, seconds: int = SECONDS_A_KERNEL
) -> Callable[[Callable[..., Any]], Any]:
    """A compiled function, cached on disk. With a signature `direct` can load it before its first call.

    One that holds the GIL runs alone: it may write what others read.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(nogil=not holds_gil, error_model="numpy")(function)
        dispatcher._cache = _KernelCache(function, seconds)  # as cache=True, with our folder instead of numba's
        KERNELS.append(dispatcher)
        SECONDS[dispatcher] = seconds
        if signature is not None:
            SIGNATURES[dispatcher] = signature
        return dispatcher

    return decorate


def inlined(function: Callable[..., Any]) -> Any:
    """A function that is inlined into each kernel that calls it."""
    return numba.njit(inline="always", error_model="numpy")(function)


def part(function: Callable[..., Any]) -> Any:
    """A function that kernels call, compiled once within each kernel; only compiled functions can call it."""
    return compile_linked(function)


def direct(dispatcher: Any) -> Any:
    """The compiled function of a kernel with one signature, without numba's argument dispatch: saves 60 ns per call.

    It takes plain integers only. The first one of a process takes a moment to load.
    """
    if not dispatcher.overloads:
        # as a tuple of types, which is the key of an ordinary call: the signature's text would be cached separately
        dispatcher.compile(sigutils.normalize_signature(SIGNATURES[dispatcher])[0])
    return next(iter(dispatcher.overloads.values())).entry_point


def _pointer(typingctx, address):  # type: ignore[no-untyped-def]
    """The integer `address` as a pointer, for `numba.carray`."""
    if not isinstance(address, types.Integer):
        return None

    def cast(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), cast


pointer: Any = intrinsic(_pointer)  # Any: numba's own type has the typing context as an argument of the call


def _copy_bytes(typingctx, target, source, count):  # type: ignore[no-untyped-def]
    """memcpy of `count` bytes between two addresses: a third of the time of a loop over words."""
    if not all(isinstance(t, types.Integer) for t in (target, source, count)):
        return None

    def copy(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        to, where, length = arguments
        cgutils.raw_memcpy(
            builder, builder.inttoptr(to, cgutils.voidptr_t), builder.inttoptr(where, cgutils.voidptr_t), length, 1
        )
        return context.get_dummy_value()

    return types.void(target, source, count), copy


copy_bytes: Any = intrinsic(_copy_bytes)


@functools.cache
def kernel_folder() -> Path:
    """The cache folder for this version of the kernels, and of the constants compiled into them."""
    sources = sources_digest("kernels/cpu", "layout")
    return cache_folder("numba", hashlib.sha256(f"{numba.__version__} {sources}".encode()).hexdigest()[:16])


class _KernelLocator(caching.UserProvidedCacheLocator):
    """Gives numba the folder without creating or checking it: it may be read-only and already complete.

    The folder's name has the digest of the sources, so neither where they lie nor when they were written matters: a cache that is
    copied to another machine, user or time is found.
    """

    def __init__(self, py_func: Callable[..., Any], py_file: str):
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._cache_path = str(kernel_folder() / py_func.__module__)

    def get_source_stamp(self) -> tuple[int, int]:
        return 0, 0

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_KernelLocator":
        return cls(py_func, py_file)


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_KernelLocator]  # type: ignore[assignment]  # noqa: RUF012

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._of = function.__module__, function.__qualname__

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Raises if the file holds another kernel's code: numba checks the file's name only."""
        found = super().rebuild(target_context, payload)
        if (found.fndesc.modname, found.fndesc.qualname) != self._of:
            raise ValueError(f"the file of {self._of} holds {found.fndesc.qualname}")
        return found


class _KernelCache(caching.FunctionCache):
    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any], seconds: int):
        super().__init__(function)
        self._kernel_name = function.__name__
        self.seconds = seconds
        self._missed_at = 0.0

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(sig, target_context)
            if found is not None and tuple(found.signature.args) != tuple(sig):
                raise ValueError(f"the file holds the kernel for {found.signature.args}, not for {sig}")
        except Exception:  # unpickling a damaged file raises almost anything
            found = None
            LOGGER.info("the kept code of %s is damaged", self._kernel_name)
            with contextlib.suppress(OSError):
                self.flush()
        if found is None:
            self._missed_at = time.perf_counter()
            _announce_compilation(self._kernel_name, self.seconds)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        seconds = time.perf_counter() - self._missed_at
        FILLING.seconds += seconds
        LOGGER.debug("compiled %s in %.2f s", self._kernel_name, seconds)
        try:
            super().save_overload(sig, data)
        except OSError as error:
            tell_unwritable(error)


def _announce_compilation(name: str, seconds: int) -> None:
    """One message per slow kernel, and one per process for all others, so that nobody waits without an explanation."""
    what = f"the kernel {name}" if seconds >= LONG else "kernels"
    if what in _announced:
        return
    _announced.add(what)
    if seconds < LONG:
        others = [k for k in KERNELS if not k.overloads and SECONDS[k] < LONG]
        seconds = max(seconds, sum(SECONDS[k] for k in others))
    warn("grammarlm.kernels", f"compiling {what}, once (about {seconds} s) ...")


_announced: set[str] = set()
