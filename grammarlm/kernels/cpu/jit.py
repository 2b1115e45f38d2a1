"""How every CPU kernel is compiled: one decorator, one disk cache, one list.

A kernel is a numba function over arrays and integers; it runs without the GIL, so threads are ordinary Python
threads:

    @kernel("void(int64, int64, int64)")           # compiled at the first call or by load_all(), not at import
    def add_one(address, count, by):
        numbers = carray(pointer(address), count, np.int32)
        for i in range(count):
            numbers[i] = twice(numbers[i]) + by

    @inlined                                        # part of the kernels that call it, no kernel of its own
    def twice(x):
        return x + x

Integers are the cheapest arguments: an array costs several times as much to pass. An address comes from
`tensor.data_ptr()` or `array.ctypes.data` (the latter is slow: better pass the array, or keep its address); `pointer`
and `numba.carray` make an array of it again. Nobody checks bounds, and the caller keeps the memory alive. Pass plain
`int`s, and arrays of the very type of the signature: a bool, an np.int32 or a read-only array is another type to
numba, and compiles the kernel once more.

Compiled code is kept in `cache_folder("numba", <hash>)`. The hash covers every source file beside this one and
those that they import constants from, because
numba alone does not notice an edit in a function that a cached one calls. So whatever a kernel calls must live in
this folder, at module level: numba keys a closure by a pickle that can differ at each start. The cache is attached to
our dispatchers only; numba.config, and with it the cache of the host application, stays as it is. A folder that
cannot be written, a full disk or a damaged file costs a compilation, nothing else.
"""

import contextlib
import functools
import hashlib
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba.core import caching, cgutils, sigutils, types
from numba.extending import intrinsic

from grammarlm.cache import FILLING, cache_folder, sources_digest, tell_unwritable
from grammarlm.notices import warn

from . import constants  # noqa: F401  it teaches numba to read those of layout/
from .parts import compile_part

LOGGER = logging.getLogger("grammarlm.kernels")
KERNELS: list[Any] = []  # every dispatcher that `kernel` made, in the order of their definition
LARGE: set[Any] = set()  # those that take many seconds to compile, and that not every grammar needs
SIGNATURES: dict[Any, str] = {}  # dispatcher -> its signature, where one was given
SECONDS: dict[Any, int] = {}  # rough time to compile one, for the lines of progress only
SECONDS_A_KERNEL, LONG = 2, 10  # an ordinary one; from LONG on it has a line of its own


def kernel(
    signature: str | None = None, *, large: bool = False, holds_gil: bool = False, seconds: int = SECONDS_A_KERNEL
) -> Callable[[Callable[..., Any]], Any]:
    """A compiled function, cached on disk. The signature lets `load_all` fetch it before its first call.

    A `large` one is compiled only for those who need it: `load_all(large=True)`. One that holds the GIL runs alone: it may write
    what others read.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(nogil=not holds_gil, error_model="numpy")(function)
        dispatcher._cache = _KernelCache(function, seconds)  # what cache=True does, with our folder in place of numba's
        KERNELS.append(dispatcher)
        SECONDS[dispatcher] = seconds
        if large:
            LARGE.add(dispatcher)
        if signature is not None:
            SIGNATURES[dispatcher] = signature
        return dispatcher

    return decorate


def inlined(function: Callable[..., Any]) -> Any:
    """A function that becomes part of each kernel that calls it."""
    return numba.njit(inline="always", error_model="numpy")(function)


def part(function: Callable[..., Any]) -> Any:
    """A function that kernels call, compiled once in each of them; only compiled functions can call it."""
    return compile_part(function)


def direct(dispatcher: Any) -> Any:
    """The compiled function of a kernel with one signature, without numba's look at the arguments: 60 ns less a call.

    It takes plain integers and nothing else.
    """
    load_all([dispatcher])
    return next(iter(dispatcher.overloads.values())).entry_point


def _pointer(typingctx, address):  # type: ignore[no-untyped-def]
    """The integer `address` as a pointer that `numba.carray` takes."""
    if not isinstance(address, types.Integer):
        return None

    def cast(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), cast


pointer: Any = intrinsic(_pointer)  # Any: numba's own type has the typing context as an argument of the call


def _copy_bytes(typingctx, target, source, count):  # type: ignore[no-untyped-def]
    """Copies `count` bytes between two addresses: a third of the time of a loop over words."""
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


def _try_lock(typingctx, address):  # type: ignore[no-untyped-def]
    """1 where the int64 at the address was 0; it is 1 from now on, whoever asked."""

    def swap(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        place = builder.inttoptr(arguments[0], word.as_pointer())
        found = builder.cmpxchg(place, word(0), word(1), "acq_rel", "monotonic")
        return builder.zext(builder.extract_value(found, 1), word)

    return types.int64(address), swap


def _unlock(typingctx, address):  # type: ignore[no-untyped-def]
    """Makes it 0: whoever locks it next sees all that was written before."""

    def store(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        builder.store_atomic(word(0), builder.inttoptr(arguments[0], word.as_pointer()), "release", 8)
        return context.get_dummy_value()

    return types.void(address), store


try_lock: Any = intrinsic(_try_lock)
unlock: Any = intrinsic(_unlock)


def load_all(kernels: Iterable[Any] | None = None, *, large: bool = False) -> None:
    """Loads (or compiles) all kernels defined so far, or those given: the first load in a process takes a moment.

    Large ones are left out unless asked for.

    Call it before the first mask, lest the first call of each kernel comes in the middle of somebody's text. What is
    loaded already costs nothing, kernels without a signature are left alone.
    """
    if kernels is None and _loaded.get(large) == len(KERNELS):
        return
    chosen = [k for k in KERNELS if large or k not in LARGE] if kernels is None else kernels
    for dispatcher in chosen:
        if dispatcher in SIGNATURES and not dispatcher.overloads:
            # as a tuple of types, which is the key of an ordinary call: the signature's text would be cached beside it
            dispatcher.compile(sigutils.normalize_signature(SIGNATURES[dispatcher])[0])
    if kernels is None:
        _loaded[large] = len(KERNELS)


_loaded: dict[bool, int] = {}  # how many kernels there were when all of them were loaded, large ones too or not


@functools.cache
def kernel_folder() -> Path:
    """The cache folder of this very version of the kernels, and of the constants that are compiled into them."""
    sources = sources_digest("kernels/cpu", "layout")
    return cache_folder("numba", hashlib.sha256(f"{numba.__version__} {sources}".encode()).hexdigest()[:16])


class _KernelLocator(caching.UserProvidedCacheLocator):
    """Tells numba the folder, and does not touch it: it may be read-only and hold everything already."""

    def __init__(self, py_func: Callable[..., Any], py_file: str):
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._cache_path = str(kernel_folder() / self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_KernelLocator":
        return cls(py_func, py_file)


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_KernelLocator]  # type: ignore[assignment]  # noqa: RUF012

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._of = function.__module__, function.__qualname__

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Raises where the file holds another kernel's code: numba looks at the file's name only."""
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
    """One line for each kernel that takes long, one a process for all others: nobody waits without a word."""
    what = f"the kernel {name}" if seconds >= LONG else "kernels"
    if what in _announced:
        return
    _announced.add(what)
    if seconds < LONG:
        others = [k for k in KERNELS if not k.overloads and SECONDS[k] < LONG and k not in LARGE]
        seconds = max(seconds, sum(SECONDS[k] for k in others))
    warn("grammarlm.kernels", f"compiling {what}, once (about {seconds} s) ...")


_announced: set[str] = set()
