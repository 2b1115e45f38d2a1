"""A cache of constraints for a process that lives long: bounded in bytes, each grammar compiled once.

    compiler = gl.Compiler(vocab, max_bytes=1 << 30)
    constraint = compiler.compile(gl.JsonSchema(schema))      # waits
    future = compiler.submit(gl.JsonSchema(schema))           # a concurrent.futures.Future
    constraint = await compiler.compile_async(grammar)        # in asyncio

Equal grammars share one constraint, and a request for one that is being compiled waits for it (single flight). When the bytes of
all constraints exceed `max_bytes`, those that no request has asked for longest are dropped; a text that is under way keeps its own.
Grammars that were refused are remembered by their errors, so that a client that repeats one costs nothing; those that reached a
limit are tried again.

The bytes of a constraint are those of its arrays and of its Python objects (object_sizes.py), without what all constraints over the
vocabulary share. They are counted in the background after compile, and again when its arrays have grown by a quarter or canvases
have been made of it: when it is asked for once more, and whenever another grammar is compiled.
"""

from __future__ import annotations

import asyncio
import copy
import os
import time
from collections import OrderedDict
from collections.abc import Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from grammarlm.errors import GrammarError, LimitExceeded, check_type, suggesting
from grammarlm.grammars.compose import Grammar, check_grammar
from grammarlm.vocab.vocabulary import Vocabulary

from .constraint import USUAL_LIMITS, Constraint, compile
from .object_sizes import reachable
from .runtime.limits import POLITE, Limits
from .runtime.shared_lock import MOMENT, shared_lock
from .token_facts import token_facts

DEFAULT_BYTES = 1 << 30
MOST_REFUSALS = 1_024  # errors that are remembered
LARGEST_REFUSED = 1 << 16  # bytes of a grammar that is remembered with its error
GROWN = 1.25  # a constraint whose arrays have grown by this factor is counted anew


class Key(NamedTuple):
    grammar: Grammar
    limits: Limits
    canonical_only: bool


@dataclass
class Entry:
    """A constraint and its bytes, with what was known of it when they were counted."""

    constraint: Constraint
    nbytes: int = 0
    arrays: int = 0  # the bytes of its arrays
    canvases: int = 0  # made of it
    is_growing: bool = False  # a canvas fills its tables while it is used: counted until two counts agree

    @property
    def is_outdated(self) -> bool:
        constraint = self.constraint
        return self.is_growing or constraint.nbytes > GROWN * self.arrays or constraint.canvases > self.canvases


@dataclass(frozen=True)
class CompilerStats:
    """What a compiler has done so far, and what it holds."""

    hits: int = 0  # requests answered at once
    joined: int = 0  # requests that waited for another's compile
    compiled: int = 0
    refused: int = 0  # compiles that ended in a GrammarError
    dropped: int = 0  # constraints that were dropped to make room
    compile_seconds: float = 0.0  # of all compiles
    longest_seconds: float = 0.0  # of one
    constraints: int = 0  # held now
    nbytes: int = 0  # of these


class Compiler:
    """Compiles grammars over one vocabulary and keeps the constraints that were used last.

    max_bytes   of all constraints that it holds
    limits      of each grammar, where a call gives none
    threads     that compile what is submitted; they pause every millisecond, so that other threads come to run
    """

    @suggesting("Compiler")
    def __init__(
        self,
        vocab: Vocabulary,
        *,
        max_bytes: int = DEFAULT_BYTES,
        limits: Limits | None = None,
        threads: int | None = None,
    ):
        check_type(vocab, Vocabulary, "Compiler(vocab) takes a gl.Vocabulary")
        for name, value in (("max_bytes", max_bytes), ("threads", 1 if threads is None else threads)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"Compiler({name}={value!r:.60}): it takes a positive integer")
        self.vocab, self.max_bytes = vocab, max_bytes
        self.limits = USUAL_LIMITS if limits is None else limits
        self._threads = threads or max(1, (os.cpu_count() or 2) // 2)
        self._lock = shared_lock(MOMENT)
        self._held: OrderedDict[Key, Entry] = OrderedDict()
        self._refused: OrderedDict[Key, GrammarError] = OrderedDict()
        self._running: dict[Key, Future[Constraint]] = {}
        self._process = os.getpid()  # whose threads run what is running
        self._stats = CompilerStats()
        self._pools: dict[int, ThreadPoolExecutor] = {}  # by process: a forked one has none of its parent's threads

    def __repr__(self) -> str:
        stats = self.stats
        return f"<Compiler of {self.vocab.size:,} tokens: {stats.constraints:,} constraints, {stats.nbytes:,} bytes>"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "a Compiler belongs to its process, with its threads: make one in each; its constraints and its vocabulary are pickled"
        )

    # ------------------------------------------------------------------ compile

    def compile(self, grammar: Grammar, *, limits: Limits | None = None, canonical_only: bool = False) -> Constraint:
        """The constraint: one that is held, or made in this thread. Raises as gl.compile does."""
        key = self._key(grammar, limits, canonical_only)
        future, is_ours = self._begin(key)
        if is_ours and (made := self._make(grammar, key, future)):
            self._pool.submit(self._weigh, key, made)
        return future.result()

    def held(
        self, grammar: Grammar, *, limits: Limits | None = None, canonical_only: bool = False
    ) -> Constraint | None:
        """The constraint where it is held; nothing is compiled."""
        key = self._key(grammar, limits, canonical_only)
        with self._lock:
            entry = self._held.get(key)
            if entry is None:
                return None
            self._held.move_to_end(key)
            self._count(hits=1)
            return entry.constraint

    def submit(
        self, grammar: Grammar, *, limits: Limits | None = None, canonical_only: bool = False
    ) -> Future[Constraint]:
        """A future of the constraint, which one of the compiler's threads makes. Others may wait for it: it cannot be cancelled."""
        key = self._key(grammar, limits, canonical_only)
        future, is_ours = self._begin(key)
        if is_ours:
            self._pool.submit(self._make_politely, grammar, key, future)
        return future

    async def compile_async(
        self, grammar: Grammar, *, limits: Limits | None = None, canonical_only: bool = False
    ) -> Constraint:
        """As `compile`, while the event loop goes on."""
        future = self.submit(grammar, limits=limits, canonical_only=canonical_only)
        return await asyncio.shield(asyncio.wrap_future(future))

    def _key(self, grammar: Grammar, limits: Limits | None, canonical_only: bool) -> Key:
        check_grammar(grammar, "a compiler")
        key = Key(grammar, self.limits if limits is None else limits, canonical_only)
        try:
            hash(key)
        except RecursionError:  # a chain of grammars that compile() refuses by its own limit
            raise LimitExceeded(
                "the grammar is nested too deeply for this process's recursion limit; flatten it"
            ) from None
        return key

    def _begin(self, key: Key) -> tuple[Future[Constraint], bool]:
        """The future of a grammar, and whether the caller has to see that it is made."""
        with self._lock:
            if self._process != os.getpid():
                self._process = os.getpid()
                self._running.clear()
            if running := self._running.get(key):
                self._count(joined=1)
                return running, False
            future: Future[Constraint] = Future()
            future.set_running_or_notify_cancel()  # it cannot be cancelled from now on
            if entry := self._held.get(key):
                self._held.move_to_end(key)
                future.set_result(entry.constraint)
            elif error := self._refused.get(key):
                future.set_exception(copy.copy(error))  # one that is raised again and again would keep every traceback
            else:
                self._running[key] = future
                return future, True
            self._count(hits=1)
        if entry and entry.is_outdated:
            self._pool.submit(self._weigh, key, entry.constraint)
        return future, False

    def _make_politely(self, grammar: Grammar, key: Key, future: Future[Constraint]) -> None:
        with POLITE:
            made = self._make(grammar, key, future)
            if made is not None:  # right away, and not behind all that waits for a thread
                self._weigh(key, made)

    def _make(self, grammar: Grammar, key: Key, future: Future[Constraint]) -> Constraint | None:
        """Compiles; the result, or the error, is the future's."""
        start = time.perf_counter()
        try:
            made = compile(grammar, self.vocab, limits=key.limits, canonical_only=key.canonical_only)
        except BaseException as error:  # Ctrl-C, too: those that wait must not wait for ever
            with self._lock:
                del self._running[key]
                self._count_compile(start, refused=1)
            future.set_exception(error)
            if isinstance(error, GrammarError) and not isinstance(error, LimitExceeded):
                self._pool.submit(self._remember, key, copy.copy(error))
            elif not isinstance(error, Exception):
                raise
            return None
        with self._lock:
            del self._running[key]
            self._held[key] = Entry(made)
            self._count_compile(start, compiled=1)
        future.set_result(made)
        return made

    # ------------------------------------------------------------------ what is held

    @property
    def stats(self) -> CompilerStats:
        with self._lock:
            held = list(self._held.values())
            return replace(self._stats, constraints=len(held), nbytes=sum(entry.nbytes for entry in held))

    def clear(self) -> None:
        """Drops every constraint and every error that is remembered."""
        with self._lock:
            self._held.clear()
            self._refused.clear()

    def close(self) -> None:
        """Waits until all that was submitted is done, and ends the threads. It can be used again."""
        for process in list(self._pools):
            self._pools.pop(process).shutdown(wait=process == os.getpid())

    @cached_property
    def _shared(self) -> Set[int]:
        """Ids of the objects that belong to the vocabulary."""
        own = reachable(self.vocab)
        return own.keys() | reachable(token_facts(self.vocab), own.keys()).keys()

    def _weigh(self, key: Key, constraint: Constraint) -> None:
        """Counts the bytes of a constraint and of all that have grown, and drops those used longest ago where all are too many."""
        with self._lock:
            outdated = {other: entry.constraint for other, entry in self._held.items() if entry.is_outdated}
        for each, held in {**outdated, key: constraint}.items():
            canvases, arrays = held.canvases, held.nbytes
            nbytes = sum(reachable(held, self._shared).values())
            with self._lock:
                if each in self._held:
                    before = self._held[each].nbytes
                    self._held[each] = Entry(held, nbytes, arrays, canvases, canvases > 0 and nbytes != before)
        with self._lock:
            total = sum(entry.nbytes for entry in self._held.values())
            while total > self.max_bytes:
                _, dropped = self._held.popitem(last=False)
                total -= dropped.nbytes
                self._count(dropped=1)

    def _remember(self, key: Key, error: GrammarError) -> None:
        if sum(reachable(key.grammar, self._shared).values()) > LARGEST_REFUSED:
            return
        with self._lock:
            self._refused[key] = error
            while len(self._refused) > MOST_REFUSALS:
                self._refused.popitem(last=False)

    @property
    def _pool(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if process not in self._pools:
            self._pools.setdefault(process, ThreadPoolExecutor(self._threads, thread_name_prefix="grammarlm-compiler"))
        return self._pools[process]

    def _count(self, **more: int) -> None:
        """Adds to the statistics, under the lock."""
        self._stats = replace(self._stats, **{name: getattr(self._stats, name) + n for name, n in more.items()})

    def _count_compile(self, start: float, **more: int) -> None:
        took = time.perf_counter() - start
        self._count(**more)
        longest = max(took, self._stats.longest_seconds)
        self._stats = replace(self._stats, compile_seconds=self._stats.compile_seconds + took, longest_seconds=longest)
