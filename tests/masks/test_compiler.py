"""gl.Compiler: one compile for equal grammars, memory that stays in bounds, errors that are remembered."""

import asyncio
import gc
import os
import threading
import time
import traceback
import tracemalloc
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.masks import compiler as module
from tests.masks.machines.stack.stack_examples import COMPILED

pytestmark = pytest.mark.usefixtures("only_new_objects")
VOCAB = COMPILED["hostile"]


def schema(number: int, properties: int = 3, **options: Any) -> gl.JsonSchema:
    named = {f"p{number}_{i}": {"type": "integer", "maximum": number} for i in range(properties)}
    return gl.JsonSchema({"properties": named}, **options)


def settled(compiler: gl.Compiler) -> gl.Compiler:
    """With all that was submitted done."""
    compiler.close()
    return compiler


class Slow:
    """Stands in for compile(): holds up until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.calls, self.open, self.begun = 0, threading.Event(), threading.Event()
        monkeypatch.setattr(module, "compile", self)

    def __call__(self, *arguments: Any, **named: Any) -> gl.Constraint:
        self.calls += 1
        self.begun.set()
        assert self.open.wait(60)
        return gl.compile(*arguments, **named)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow(monkeypatch)
    yield made
    made.open.set()


def test_equal_grammars_share_one_constraint() -> None:
    compiler = gl.Compiler(VOCAB)
    first = compiler.compile(schema(1))
    assert compiler.compile(schema(1)) is first
    assert compiler.submit(schema(1)).result() is first
    assert asyncio.run(compiler.compile_async(schema(1))) is first
    others = [
        compiler.compile(schema(1), limits=gl.Limits(max_ms=1e6)),
        compiler.compile(schema(2)),
        compiler.compile(schema(1, whitespace="compact")),
    ]
    assert len({id(each) for each in [first, *others]}) == 4
    stats = compiler.stats
    assert (stats.hits, stats.compiled, stats.constraints, stats.refused) == (3, 4, 4, 0)
    assert stats.compile_seconds >= stats.longest_seconds > 0


def test_requests_that_come_meanwhile_wait_for_the_same_compile(slow: Slow) -> None:
    compiler = gl.Compiler(VOCAB, threads=3)
    first = compiler.submit(schema(1))
    assert slow.begun.wait(60)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(compiler.compile, schema(1)) for _ in range(4)]
        later = [compiler.submit(schema(1)) for _ in range(4)]
        while compiler.stats.joined < 8:
            time.sleep(1e-3)
        slow.open.set()
        assert {id(each.result(60)) for each in [first, *waiting, *later]} == {id(first.result())}
    assert slow.calls == 1


def test_the_event_loop_goes_on(slow: Slow) -> None:
    compiler = gl.Compiler(VOCAB)

    async def ticks() -> int:
        task = asyncio.ensure_future(compiler.compile_async(schema(1)))
        for turns in range(1000):
            await asyncio.sleep(0)
            if turns == 500:
                slow.open.set()
        await task
        return turns

    assert asyncio.run(ticks()) == 999


def test_one_that_gives_up_waiting_takes_nothing_from_the_others(slow: Slow) -> None:
    compiler = gl.Compiler(VOCAB)

    async def both() -> gl.Constraint:
        impatient = asyncio.ensure_future(compiler.compile_async(schema(1)))
        patient = asyncio.ensure_future(compiler.compile_async(schema(1)))
        await asyncio.sleep(0.01)
        impatient.cancel()
        slow.open.set()
        return await patient

    assert isinstance(asyncio.run(both()), gl.Constraint)


def test_what_was_used_longest_ago_is_dropped() -> None:
    compiler = gl.Compiler(VOCAB)
    for number in range(6):
        compiler.compile(schema(number, 30))
    each = settled(compiler).stats.nbytes // 6
    small = gl.Compiler(VOCAB, max_bytes=int(3.5 * each))
    kept = [small.compile(schema(number, 30)) for number in range(3)]
    settled(small)
    assert small.compile(schema(0, 30)) is kept[0]
    small.compile(schema(3, 30))
    assert settled(small).stats.dropped == 1
    assert small.compile(schema(0, 30)) is kept[0]
    assert small.compile(schema(1, 30)) is not kept[1]
    assert kept[1].matcher().advance_bytes(b"{")  # whoever holds it goes on


@pytest.mark.parametrize("count", [200, pytest.param(4000, marks=pytest.mark.proof)])
def test_memory_stays_in_bounds_over_many_schemas(count: int) -> None:
    """Whatever the compiler says of itself: what Python has allocated is at most twice the bound, and texts that grow count."""
    bound = 4 << 20
    compiler = gl.Compiler(VOCAB, max_bytes=bound)
    compiler.compile(schema(-1))
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(count):
            compiler.submit(schema(number, 5 + number % 20)).result()
        settled(compiler)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert bound / 2 < compiler.stats.nbytes <= bound
    assert held < 2 * bound
    assert compiler.stats.dropped > count // 3


def test_tables_of_canvases_are_counted() -> None:
    """Also of a constraint that nobody asks for again: whenever another grammar is compiled."""
    compiler = gl.Compiler(VOCAB)
    constraint = compiler.compile(schema(0))
    before = settled(compiler).stats.nbytes
    canvas = constraint.canvas(12)
    assert canvas.is_completable([-1] * 12)
    compiler.compile(schema(1))
    assert settled(compiler).stats.nbytes > 4 * before
    small = gl.Compiler(VOCAB, max_bytes=8 * before)
    small.compile(schema(0)).canvas(12).is_completable([-1] * 12)
    small.compile(schema(1))
    assert settled(small).stats.dropped == 1
    assert small.held(schema(0)) is None


def allocated(grammar: Any) -> tuple[int, int]:
    """What a compile of it leaves allocated, and what the compiler says that it holds of it."""
    compiler = gl.Compiler(VOCAB)
    compiler.compile(gl.Regex("a"))
    before = settled(compiler).stats.nbytes
    gc.collect()
    tracemalloc.start()
    try:
        compiler.compile(grammar())
        settled(compiler)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return held, compiler.stats.nbytes - before


@pytest.mark.parametrize(
    "grammar",
    [
        lambda: gl.Regex("(foo|bar){3,9}[a-z]+"),
        lambda: schema(5, 40),
        lambda: gl.Lark.library("json"),
        lambda: gl.Text(until="</x>") + schema(3),
        lambda: gl.Tokens([[1, 2, 3], [2, 3, 4]]),
        lambda: gl.JsonSchema({"enum": [f"value {i}" for i in range(3000)]}),
    ],
)
def test_bytes_are_those_that_python_allocates(grammar: Any) -> None:
    """Of three compiles that which holds least: a dictionary of all locks that is made larger meanwhile is no constraint's."""
    gl.compile(grammar(), VOCAB)  # what is made once for all
    held, counted = min(allocated(grammar) for _ in range(3))
    assert held / 2 <= counted <= 2 * held + 10_000


def test_a_constraint_that_grows_is_counted_again() -> None:
    compiler = gl.Compiler(VOCAB)
    constraint = compiler.compile(gl.Regex("(?s).*a.{9}b"))
    before = settled(compiler).stats.nbytes
    matcher, mask = constraint.matcher(), gl.allocate_mask(1, VOCAB.size)
    for byte in b"abacaddaaabbab" * 4:
        matcher.fill_mask(mask)
        assert matcher.advance_bytes(bytes([byte]))
    assert compiler.compile(gl.Regex("(?s).*a.{9}b")) is constraint
    assert settled(compiler).stats.nbytes > 1.5 * before


def test_errors_are_remembered_and_do_not_grow() -> None:
    compiler, frames = gl.Compiler(VOCAB), []
    for _ in range(50):
        with pytest.raises(gl.GrammarError, match="multipleOf") as caught:
            compiler.compile(gl.JsonSchema({"multipleOf": 0}))
        frames.append(len(traceback.extract_tb(caught.tb)))
        settled(compiler)
    assert max(frames) == frames[0], "each time the same traceback, and not one that grows"
    assert compiler.stats.refused == 1
    assert compiler.stats.hits == 49


def test_limits_that_were_reached_are_tried_again() -> None:
    patterns = ["^([a-z][0-9])+$", "((c1d3g3).{4,8}){6,6}", "(t|8){10,10}$"]
    heavy = gl.JsonSchema({"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns]})
    compiler = gl.Compiler(VOCAB, limits=gl.Limits(max_work=2))
    for _ in range(2):
        with pytest.raises(gl.LimitExceeded):
            compiler.compile(heavy)
        settled(compiler)
    assert compiler.stats.refused == 2
    assert compiler.compile(heavy, limits=gl.Limits()).matcher().advance_bytes(b'"')


def test_what_is_not_a_grammar_error_reaches_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **named: Any) -> gl.Constraint:
        raise KeyboardInterrupt

    compiler = gl.Compiler(VOCAB)
    monkeypatch.setattr(module, "compile", broken)
    with pytest.raises(KeyboardInterrupt):
        compiler.compile(schema(1))
    monkeypatch.undo()
    assert compiler.compile(schema(1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_goes_on(slow: Slow) -> None:
    compiler = gl.Compiler(VOCAB)
    waiting = compiler.submit(schema(1))  # by a thread that the child does not have
    assert slow.begun.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            slow.open.set()
            os._exit(0 if compiler.submit(schema(1)).result(60).matcher().advance_bytes(b"{") else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    slow.open.set()
    assert waiting.result(60)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"vocab": 3}, TypeError),
        ({"max_bytes": 0}, ValueError),
        ({"threads": True}, ValueError),
        ({"maxbytes": 3}, TypeError),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"Compiler\("):
        gl.Compiler(**{"vocab": VOCAB, **arguments})


def test_what_is_no_grammar_is_refused_at_once() -> None:
    compiler = gl.Compiler(VOCAB)
    for call in (compiler.compile, compiler.submit):
        with pytest.raises(TypeError, match="takes a grammar"):
            call({"type": "object"})  # type: ignore[arg-type]
    chain: Any = gl.Regex("a")
    for _ in range(5_000):
        chain = (chain + gl.Regex("a")) | gl.Regex("b")
    with pytest.raises(gl.LimitExceeded, match="flatten"):
        compiler.compile(chain)
