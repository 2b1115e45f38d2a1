"""The live loop: who shares a forward, who waits, who leaves, whose a failure is, and what is left behind."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress

import pytest

import grammarlm as gl
from grammarlm.decoding.live import live
from grammarlm.decoding.live.asynchronous import asked_of, prepared
from grammarlm.decoding.live.calls import Call
from grammarlm.decoding.stream import AnswerEvents
from tests.counts import record_counts, tiers
from tests.texts import BYTES
from tests.threads import in_threads

torch = pytest.importorskip("torch")

TABLE = torch.randn(257, 257, generator=torch.Generator().manual_seed(0))
FORBIDDEN = 7  # an id that the model refuses to read
PATIENCE = 120  # seconds after which a test that waits has failed


class Gated:
    """A model whose forwards wait until they are let through; it notes the first id of each text of each forward."""

    def __init__(self, is_open=False):
        self.read, self._gate, self._is_open = [], threading.Semaphore(0), is_open

    def __call__(self, ids):
        self.read.append(ids[:, 0].tolist())
        if not self._is_open:
            assert self._gate.acquire(timeout=PATIENCE)
        if (ids == FORBIDDEN).any():
            raise LookupError("an id that nobody knows")
        return TABLE[ids].clone()

    async def let(self, forwards=1):
        """So many forwards go on, and the next one, where there is one, has begun."""
        for _ in range(forwards):
            before = len(self.read)
            self._gate.release()
            await until(lambda before=before: len(self.read) > before)

    def open(self):
        self._is_open = True
        self._gate.release(1000)


async def until(holds):
    """Waits for what another thread brings about."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "nothing happened"
        await asyncio.sleep(0.001)


def call(model, first, length=6, **options):
    """A call whose prompt begins with this id: a task that has begun to run."""
    asked = {"vocab": BYTES, "regex": f"[a-z]{{{length}}}", "forced": "off", **options}
    return asyncio.create_task(gl.agenerate(model, [first, 65], **asked))


async def alone(model, first, **options):
    """A call whose prompt has been read; the forward of its second token has begun."""
    task = call(model, first, **options)
    await until(lambda: model.read)
    await model.let()
    return task


async def queued(count, model):
    """Until so many calls wait for their place."""
    await until(lambda: live.live_of(model).waiting == count)


def test_calls_that_wait_share_forwards():
    async def main():
        model = Gated()
        tasks = [await alone(model, 1)]
        for at, first in enumerate((2, 3), 1):
            tasks.append(call(model, first, length=first))
            await queued(at, model)
        await model.let()
        assert model.read == [[1], [1], [2, 3]]  # the new prompts first
        await model.let()
        assert model.read[-1] == [1, 2, 3]
        model.open()
        return [out.text for out in await asyncio.gather(*tasks)]

    found = asyncio.run(main())
    assert [len(text) for text in found] == [6, 2, 3]


def test_calls_of_several_generators_share_forwards():
    async def main():
        model = Gated()
        words, numbers = (
            gl.Generator(model, gl.Regex(pattern), vocab=BYTES, forced="off") for pattern in ("[a-z]{4}", "[0-9]{4}")
        )
        first = asyncio.create_task(words.agenerate([1, 65]))
        await until(lambda: model.read)
        second = asyncio.create_task(numbers.agenerate([2, 65]))
        await queued(1, model)
        with pytest.raises(gl.TooManyCalls, match="max_waiting is 1"):
            await words.agenerate([3, 65], max_waiting=1)
        await model.let(3)
        assert model.read == [[1], [1], [2], [1, 2]]
        model.open()
        return [out.text for out in await asyncio.gather(first, second)]

    word, number = asyncio.run(main())
    assert word.isalpha()
    assert number.isdigit()


def test_a_call_that_is_cancelled_leaves_before_the_next_forward():
    async def main():
        model = Gated()
        first = await alone(model, 1)
        second = call(model, 2)
        await queued(1, model)
        await model.let(2)
        assert model.read[-1] == [1, 2]
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await model.let(2)
        assert model.read[-2:] == [[1], [1]]
        model.open()
        return await first

    expected = gl.generate(Gated(is_open=True), [1, 65], vocab=BYTES, regex="[a-z]{6}")
    assert asyncio.run(main()).text == expected.text


def test_a_stream_that_is_left_early_leaves():
    async def main():
        model = Gated(is_open=True)
        events = gl.astream(model, [1, 65], vocab=BYTES, max_tokens=100_000, temperature=1.0, seed=1, regex="[a-z]*")
        async for event in events:
            assert event.text
            break
        await events.aclose()
        forwards = len(model.read)
        assert (await gl.agenerate(model, [2, 65], vocab=BYTES, regex="[a-z]{3}")).finish_reason == "stop"
        assert all(texts == [2] for texts in model.read[forwards + 1 :])

    asyncio.run(main())


def test_more_calls_than_may_wait_are_refused():
    async def main():
        model = Gated()
        first = await alone(model, 1)
        waiting = [call(model, 2, batch_size=1), call(model, 3, batch_size=1)]
        await queued(2, model)
        with pytest.raises(gl.TooManyCalls, match=r"2 calls wait for the model, and max_waiting is 2; call again"):
            await call(model, 4, max_waiting=2)
        waiting[0].cancel()
        with suppress(asyncio.CancelledError):
            await waiting[0]
        last = call(model, 5, max_waiting=2)
        await queued(2, model)
        model.open()
        await asyncio.gather(first, waiting[1], last)
        return model.read

    assert [2] not in asyncio.run(main())


def test_calls_begin_in_the_order_of_their_arrival():
    async def main():
        model = Gated()
        tasks = [await alone(model, 1, batch_size=2)]
        for at, first in enumerate((5, 4, 3, 2), 1):
            tasks.append(call(model, first, batch_size=2, n=2 if first == 4 else 1, temperature=1.0, seed=1))
            await queued(at, model)
        model.open()
        await asyncio.gather(*tasks)
        return model.read

    read = asyncio.run(main())
    seen = list(dict.fromkeys(first for texts in read for first in texts))
    assert seen == [1, 5, 4, 3, 2]
    assert max(map(len, read)) == 2
    assert [4, 4] in read


def test_a_failure_is_its_calls_alone():
    async def main():
        model = Gated()
        first = await alone(model, 1)
        streamed = asyncio.create_task(collected(gl.astream(model, [3, 65], vocab=BYTES, regex="[a-z]{6}")))
        await queued(1, model)
        await model.let(3)
        failing = call(model, FORBIDDEN)
        fine = call(model, 2)
        await queued(2, model)
        model.open()
        return await asyncio.gather(first, streamed, fine, failing, return_exceptions=True)

    async def collected(events):
        return [event async for event in events]

    first, streamed, fine, failed = asyncio.run(main())
    assert isinstance(failed, LookupError)
    for number, out in ((1, first), (2, fine), (3, streamed[-1].result)):
        assert out.tokens == gl.generate(Gated(is_open=True), [number, 65], vocab=BYTES, regex="[a-z]{6}").tokens
    assert "".join(event.text for event in streamed) == streamed[-1].result.text


def test_texts_that_were_read_together_go_on_after_another_one_has_failed():
    """The id that the model cannot read is drawn in the middle of an answer."""
    letters = gl.Choices([bytes([97, FORBIDDEN, 98]).decode(), "ab"])

    async def main():
        model = Gated()
        first = await alone(model, 1)
        tasks = [call(model, 2, regex=None, grammar=letters, seed=at, temperature=5.0) for at in range(12)]
        streamed = [
            asyncio.create_task(collected(gl.astream(model, [3, 65], vocab=BYTES, regex="[a-z]{9}"))) for _ in range(2)
        ]
        await queued(14, model)
        model.open()
        return await asyncio.gather(first, *tasks, *streamed, return_exceptions=True)

    async def collected(events):
        return [event async for event in events]

    outs = asyncio.run(main())
    kinds = {getattr(out, "text", type(out).__name__) for out in outs[1:13]}
    assert kinds == {"ab", "LookupError"}
    expected = gl.generate(Gated(is_open=True), [3, 65], vocab=BYTES, regex="[a-z]{9}")
    for events in outs[13:]:
        assert "".join(event.text for event in events) == events[-1].result.text == expected.text


def test_a_listener_that_fails_ends_its_own_call():
    model = Gated(is_open=True)

    def tell(items):
        raise LookupError("nobody is there")

    request = prepared(model, [1, 65], asked_of("astream", model, {"vocab": BYTES, "regex": "[a-z]{6}"}, 1))
    failing, fine = Call(request, AnswerEvents, tell), Call(request)
    for one in (failing, fine):
        live.live_of(model).submit(one, 2)
    with pytest.raises(LookupError):
        failing.future.result(PATIENCE)
    [out] = fine.future.result(PATIENCE)
    assert out.finish_reason == "stop"


def test_several_event_loops_share_a_model():
    model, asked = Gated(is_open=True), {"vocab": BYTES, "regex": "[a-z]{9}"}
    outs = in_threads(lambda first: asyncio.run(gl.agenerate(model, [1 + first, 65], **asked)), 3)
    for first, out in enumerate(outs):
        assert out.tokens == gl.generate(model, [1 + first, 65], **asked).tokens


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_a_loop_of_its_own():
    model = Gated(is_open=True)
    before = asyncio.run(gl.agenerate(model, [1, 65], vocab=BYTES, regex="[a-z]{9}"))
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)  # ends a child that waits for ever
        code = 1
        try:
            again = asyncio.run(gl.agenerate(model, [1, 65], vocab=BYTES, regex="[a-z]{9}"))
            code = int(again.tokens != before.tokens)
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def wait_for_the_threads():
    """Until each live loop has ended its thread."""
    end = time.monotonic() + PATIENCE
    while any(thread.name == "grammarlm live" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_thread_ends_and_holds_no_model(monkeypatch):
    monkeypatch.setattr(live, "IDLE", 0.01)
    model = Gated(is_open=True)
    asyncio.run(gl.agenerate(model, [1, 65], vocab=BYTES, regex="[a-z]{9}"))
    wait_for_the_threads()
    asyncio.run(gl.agenerate(model, [1, 65], vocab=BYTES, regex="[a-z]{9}"))  # a new one
    wait_for_the_threads()
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_process_ends_while_an_answer_is_being_made():
    code = """
import asyncio, torch
import grammarlm as gl
vocab = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], stop_ids=[256])
def model(ids): return torch.zeros(*ids.shape, 257)
async def main():
    async for event in gl.astream(model, [1], vocab=vocab, max_tokens=10**6, temperature=1.0, seed=1):
        if event.text:
            break
    asyncio.get_running_loop().shutdown_asyncgens = None  # nothing is cancelled
    import os, sys
    sys.stdout.write("left"); sys.stdout.flush()
    raise SystemExit(3)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE, text=True, check=False)
    assert done.stdout == "left"
    assert done.returncode != 0
    assert "Fatal" not in done.stderr


@tiers("calls", 300, 10_000)
def test_many_calls_leave_nothing(calls, record_property, monkeypatch):
    monkeypatch.setattr(live, "IDLE", 0.01)
    model = Gated(is_open=True)

    async def some(count):
        for _ in range(count // 20):
            tasks = [call(model, 1 + at % 5, length=2 + at % 3) for at in range(20)]
            tasks[3].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            model.read.clear()

    asyncio.run(some(200))
    wait_for_the_threads()
    gc.collect()
    before = len(gc.get_objects())
    asyncio.run(some(calls))
    wait_for_the_threads()
    gc.collect()
    assert len(gc.get_objects()) - before < 200 + calls // 20  # a call that left one object would leave more
    record_counts(record_property, {"calls": calls}, cases="calls")


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        (
            {"method": "beam"},
            ValueError,
            r"agenerate\(\) finds answers by method=\"masked\", without drafts, and method='beam'",
        ),
        ({"draft": "copy"}, ValueError, "and a draft is asked for: generate"),
        ({"max_waiting": 0}, ValueError, "max_waiting=0; it takes an integer of 1 or more"),
        ({"regexp": "a"}, TypeError, r"agenerate\(\) has no argument regexp=; did you mean regex=\?"),
        ({"regex": "a{9}", "max_tokens": 2}, ValueError, "max_tokens=2 may not be enough"),
        ({"regex": "("}, gl.GrammarError, "^1:1|regex|parenthes"),
    ],
    ids=["method", "draft", "max_waiting", "misspelt", "budget", "grammar"],
)
def test_bad_input_is_one_sentence(asked, kind, message):
    with pytest.raises(kind, match=message):
        asyncio.run(gl.agenerate(Gated(is_open=True), [1, 65], vocab=BYTES, **asked))


def test_a_stream_cannot_be_checked():
    with pytest.raises(ValueError, match=r"astream\(\) takes no check= and no retries="):
        gl.astream(Gated(), [1, 65], vocab=BYTES, retries=1)


def test_no_prompts_no_answers():
    async def main():
        return [event async for event in gl.astream(Gated(), [], vocab=BYTES)]

    assert asyncio.run(gl.agenerate(Gated(), [], vocab=BYTES)) == []
    [end] = asyncio.run(main())
    assert (end.kind, end.result) == ("end", [])
