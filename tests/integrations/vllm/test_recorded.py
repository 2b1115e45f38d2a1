"""Thousands of steps as vLLM's runners make them: slots that are used again, moves, swaps, preemption, placeholders, drafts that
are accepted in part. Each row is bit for bit that of a matcher that reads the request's tokens anew.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from vllm import SamplingParams
from vllm.v1.sample.logits_processor import BatchUpdate, MoveDirectionality

import grammarlm as gl
from grammarlm.integrations.serving.compiling import LIMITS
from grammarlm.integrations.serving.options import read_options
from grammarlm.integrations.vllm import engine as engines
from grammarlm.integrations.vllm import processor
from grammarlm.integrations.vllm.processor import LogitsProcessor
from grammarlm.masks.compiler import Compiler
from tests.masks.machines.stack.stack_examples import COMPILED

VOCAB = COMPILED["hostile"]
WIDTH, MOST, LONGEST = VOCAB.size, 6, 120
FORMS: list[dict[str, Any] | None] = [
    None, {"regex": "(ab|c)+"}, {"schema": True}, {"grammar": 'start: "(" start ")" | "a"'}, {"choices": ["abc", "b"]},
    {"schema": {"type": "array", "items": {"type": "integer"}}, "whitespace": "compact"}, None,
    {"grammar": gl.Text(until="b") + gl.Regex("[ac]+")},
]  # fmt: skip


@pytest.fixture(autouse=True)
def small_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine over a small vocabulary, without a model."""

    def fill(self: Any, config: Any, tokenizer: Any = None) -> None:
        self.vocab, self.most_tokens = VOCAB, LONGEST
        self.compiler = Compiler(VOCAB, limits=LIMITS)

    monkeypatch.setattr(engines.Engine, "__init__", fill)
    monkeypatch.setattr(processor, "Engine", engines.Engine)


@dataclass
class Request:
    """A request as vLLM holds it, and what it is held to."""

    form: dict[str, Any] | None
    params: SamplingParams
    prompt: list[int]
    output: list[int] = field(default_factory=list)
    pending: int | None = None  # sampled, where output has a placeholder

    @property
    def tokens(self) -> list[int]:
        return [token for token in self.output if token >= 0] + ([] if self.pending is None else [self.pending])

    def expected(self, tokens: list[int]) -> np.ndarray | None:
        """The mask row after these tokens, read anew."""
        if self.form is None:
            return None
        mask = gl.allocate_mask(1, VOCAB.size)
        grammar = read_options(self.form).grammar
        assert grammar is not None
        matcher = CONSTRAINTS.compile(grammar).matcher()
        for token in tokens:
            if token in VOCAB.stop_ids:
                assert matcher.is_accepting
            elif not matcher.advance(token):
                raise AssertionError(token)
            if token in VOCAB.stop_ids and not matcher.is_finished:
                assert matcher.advance(token)
        matcher.fill_mask(mask)
        return mask[0]


CONSTRAINTS = Compiler(VOCAB)


def new_request(rng: random.Random) -> Request:
    form = rng.choice(FORMS)
    extra = None if form is None else {"grammarlm": {**form, "close": False}}
    params = SamplingParams(max_tokens=LONGEST, extra_args=extra)
    LogitsProcessor.validate_params(params)
    return Request(form, params, [rng.randrange(WIDTH) for _ in range(rng.randrange(1, 5))])


def bits_of(row: torch.Tensor) -> np.ndarray:
    allowed = (row != -torch.inf).numpy()
    padded = np.zeros(-(-WIDTH // 32) * 32, np.uint8)
    padded[: len(allowed)] = allowed
    return np.packbits(padded, bitorder="little").view(np.int32)


def drawn(row: np.ndarray | None, rng: random.Random) -> int:
    """A token that the row allows; stop ids seldom, so that texts grow."""
    ids = range(WIDTH) if row is None else np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
    others = [token for token in ids if token not in VOCAB.stop_ids]
    return rng.choice(others if others and rng.random() < 0.95 else list(ids))


def check_row(logits: torch.Tensor, before: torch.Tensor, expected: np.ndarray | None) -> None:
    if expected is None:
        assert torch.equal(logits, before)
        return
    assert np.array_equal(bits_of(logits), expected)
    kept = logits != -torch.inf
    assert torch.equal(logits[kept], before[kept])


def walk_v1(steps: int, seed: int) -> int:
    """As V1's persistent batch: the rows are the first places, without holes."""
    rng, held, waiting, rows = random.Random(seed), list[Request](), list[Request](), 0
    made = LogitsProcessor(None, torch.device("cpu"), False)  # type: ignore[arg-type]
    for _ in range(steps):
        removed, added, moved = [], [], []
        places: list[Request | None] = list(held)
        for place, request in enumerate(held):
            has_ended = request.tokens and request.tokens[-1] in VOCAB.stop_ids
            is_long = len(request.output) > LONGEST - 10
            if has_ended or is_long or rng.random() < 0.04:
                removed.append(place)
                places[place] = None
                if not (has_ended or is_long):
                    waiting.append(request)  # preempted: it comes back with what it has written
        while len(places) - places.count(None) < MOST and rng.random() < 0.5:
            resumed = bool(waiting) and rng.random() < 0.7
            request = waiting.pop(0) if resumed else new_request(rng)
            settle(request)
            place = places.index(None) if None in places else len(places)
            if place < len(places):
                places[place] = request
                if place in removed:
                    removed.remove(place)
            else:
                places.append(request)
            added.append((place, request.params, request.prompt, request.output))
        while None in places:  # the last ones move into the holes
            last = places.pop()
            if last is None:
                continue
            hole = places.index(None)
            places[hole] = last
            moved.append((len(places), hole, MoveDirectionality.UNIDIRECTIONAL))
        held = [request for request in places if request is not None]
        if len(held) > 1 and rng.random() < 0.2:
            one, other = rng.sample(range(len(held)), 2)
            held[one], held[other] = held[other], held[one]
            moved.append((one, other, MoveDirectionality.SWAP))
        change = (
            BatchUpdate(len(held), sorted(removed, reverse=True), added, moved) if removed or added or moved else None
        )
        made.update_state(change)
        for request in held:
            settle(request)  # asynchronous scheduling: placeholders are replaced between update_state and apply
        if not held:
            continue
        before = torch.randn(len(held), WIDTH)
        logits = made.apply(before.clone())
        for place, request in enumerate(held):
            expected = request.expected(request.tokens)
            check_row(logits[place], before[place], expected)
            request.pending = drawn(expected, rng)
            request.output.append(-1)
            if rng.random() < 0.5:
                settle(request)
        rows += len(held)
    return rows


def settle(request: Request) -> None:
    if request.pending is not None:
        request.output[-1] = request.pending
        request.pending = None


@dataclass
class Slots:
    """vLLM's state of requests for V2, on the host."""

    all_token_ids: Any
    prompt_len: Any
    table: np.ndarray


def slots_of(count: int) -> Slots:
    table = np.full((count, 2 * LONGEST), -7, np.int32)
    return Slots(SimpleNamespace(gpu=torch.from_numpy(table)), SimpleNamespace(np=np.zeros(count, np.int32)), table)


def walk_v2(steps: int, seed: int, most_drafts: int) -> int:
    """As V2: rows are shuffled each step, a request has one for each draft, what is committed lies in a table."""
    rng, rows = random.Random(seed), 0
    slots, held = slots_of(MOST), dict[int, Request]()
    waiting: list[Request] = []
    made = LogitsProcessor(None, slots)  # type: ignore[arg-type]
    for _ in range(steps):
        for slot, request in list(held.items()):
            has_ended = any(token in VOCAB.stop_ids for token in request.output)
            is_long = len(request.output) > LONGEST - 10
            if has_ended or is_long or rng.random() < 0.04:
                del held[slot]  # without a word to the processor
                if not (has_ended or is_long):
                    waiting.append(request)
        while len(held) < MOST and rng.random() < 0.5:
            request = waiting.pop(0) if waiting and rng.random() < 0.7 else new_request(rng)
            slot = rng.choice([slot for slot in range(MOST) if slot not in held])
            known = request.prompt + request.output
            slots.table[slot] = -7
            slots.table[slot, : len(known)] = known
            slots.prompt_len.np[slot] = len(request.prompt)
            assert made.add_request(slot, request.params) == (request.form is not None)
            held[slot] = request
            if rng.random() < 0.3 and len(known) > 1:  # a chunk of the prompt, whose row nobody reads
                made.apply(torch.randn(1, WIDTH), context([(slot, [known[0]], 0)]))
        made.apply_staged_writes()
        batch = rng.sample(sorted(held), rng.randint(0, len(held)))
        plan: list[tuple[int, list[int], int]] = []
        for slot in batch:
            request = held[slot]
            known = request.prompt + request.output
            drafts, at = [], list(request.output)
            for _ in range(rng.randrange(most_drafts + 1)):
                expected = request.expected(at)
                token = drawn(expected, rng) if rng.random() < 0.8 else rng.randrange(WIDTH)
                drafts.append(token)
                if expected is not None and not expected[token >> 5] >> (token & 31) & 1:
                    drafts += [-1] * rng.randrange(2)
                    break
                at.append(token)
                if token in VOCAB.stop_ids:
                    break
            plan.append((slot, [known[-1], *drafts], len(known) - 1))
        total = sum(len(inputs) for _, inputs, _ in plan)
        if not total:
            continue
        before = torch.randn(total, WIDTH)
        logits = made.apply(before.clone(), context(plan))
        place = 0
        for slot, inputs, _ in plan:
            request, at, is_fine = held[slot], list(held[slot].output), True
            rows_of: list[np.ndarray | None] = []
            for number, token in enumerate(inputs):
                if number and is_fine and request.form is not None:
                    row = rows_of[-1]
                    assert row is not None
                    is_fine = token >= 0 and bool(row[token >> 5] >> (token & 31) & 1)
                if number:
                    at.append(token)
                if is_fine or request.form is None:
                    rows_of.append(request.expected(at))
                    check_row(logits[place + number], before[place + number], rows_of[-1])
                else:
                    allowed = np.flatnonzero((logits[place + number] != -torch.inf).numpy()).tolist()
                    assert allowed == sorted(VOCAB.stop_ids)
            accepted = inputs[1 : 1 + rng.randint(0, len(rows_of) - 1)]
            if request.form is None:
                accepted = [token for token in accepted if token >= 0]
            request.output += [*accepted, drawn(request.expected(request.output + accepted), rng)]
            if any(token in VOCAB.stop_ids for token in request.output[:-1]):
                del request.output[1 + next(i for i, t in enumerate(request.output) if t in VOCAB.stop_ids) :]
            known = request.prompt + request.output
            slots.table[slot, : len(known)] = known
            place += len(inputs)
        rows += total
    return rows


def context(plan: list[tuple[int, list[int], int]]) -> Any:
    """A step's layout: (slot, inputs, position of the first)."""
    flat = [
        (slot, number, token, first + number) for slot, inputs, first in plan for number, token in enumerate(inputs)
    ]
    columns = [torch.tensor(column, dtype=torch.int32) for column in zip(*flat, strict=True)]
    slots = np.array([slot for slot, _, _ in plan])
    return SimpleNamespace(
        expanded_idx_mapping=columns[0], expanded_local_pos=columns[1], input_ids=columns[2], pos=columns[3].long(),
        idx_mapping=torch.from_numpy(slots), idx_mapping_np=slots, seq_lens_upper_bound_np=slots,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_steps_of_v1(seed: int) -> None:
    assert walk_v1(300, seed) > 500


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("drafts", [0, 4])
def test_steps_of_v2(seed: int, drafts: int) -> None:
    assert walk_v2(300, seed, drafts) > 400


@pytest.mark.proof
def test_ten_thousand_steps(record_property: Any) -> None:
    rows = walk_v1(5_000, 11) + walk_v2(1_000, 12, 0) + walk_v2(4_000, 13, 5)
    record_property("cases", rows)


@pytest.mark.parametrize(("runner", "name"), [("v1", "update_state"), ("v2", "add_request"), ("v2", "apply")])
def test_a_vllm_that_would_call_other_functions_is_refused(
    runner: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner that does not call what we override would leave requests without their grammar."""
    interface = {"v1": processor.V1Processor, "v2": processor.V2Processor}[runner]
    monkeypatch.setattr(interface, name, lambda self, something_else: None)
    more = (torch.device("cpu"), False) if runner == "v1" else (slots_of(2),)
    with pytest.raises(RuntimeError, match=f"LogitsProcessor.{name} takes .*something_else.* and not"):
        LogitsProcessor(None, *more)  # type: ignore[arg-type]


def test_a_placeholder_that_stays_ends_the_request() -> None:
    """Asynchronous scheduling with an entry point alone: vLLM never says what it has sampled."""
    made = LogitsProcessor(None, torch.device("cpu"), False)  # type: ignore[arg-type]
    output: list[int] = []
    params = SamplingParams(extra_args={"grammarlm": {"regex": "a+b"}})
    made.update_state(BatchUpdate(1, [], [(0, params, [1], output)], []))
    made.apply(torch.randn(1, WIDTH))
    output.append(-1)
    logits = made.apply(torch.randn(1, WIDTH))
    assert np.flatnonzero((logits[0] != -torch.inf).numpy()).tolist() == sorted(VOCAB.stop_ids)


def test_without_a_request_of_ours_nothing_is_transferred() -> None:
    made = LogitsProcessor(None, slots_of(2))  # type: ignore[arg-type]
    assert not made.add_request(0, SamplingParams())
    logits = torch.randn(1, WIDTH)
    assert made.apply(logits, SimpleNamespace(idx_mapping_np=np.array([0]))) is logits  # nothing else is looked at


@pytest.mark.parametrize("runner", ["v1", "v2"])
def test_a_step_that_fails_closes_and_the_next_one_goes_on(runner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    params, count = SamplingParams(extra_args={"grammarlm": {"regex": "a+b"}}), 3 if runner == "v1" else 1
    if runner == "v1":
        made = LogitsProcessor(None, torch.device("cpu"), False)  # type: ignore[arg-type]
        others = [(place, SamplingParams(), [1], []) for place in (1, 2)]  # there are more rows than ours
        made.update_state(BatchUpdate(3, [], [(0, params, [1], []), *others], []))
        step: tuple[Any, ...] = ()
    else:
        made = LogitsProcessor(None, slots_of(2))  # type: ignore[arg-type]
        assert made.add_request(0, params)
        step = (context([(0, [1], 0)]),)

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(processor.V1Rows, "fill", broken)
        patch.setattr(processor.V2Rows, "fill", broken)
        logits = made.apply(torch.randn(count, WIDTH), *step)
    assert np.flatnonzero((logits[0] != -torch.inf).numpy()).tolist() == sorted(VOCAB.stop_ids)
    assert bool((logits[1:] != -torch.inf).all())
    logits = made.apply(torch.randn(count, WIDTH), *step)
    assert np.flatnonzero((logits[0] != -torch.inf).numpy()).tolist() == sorted(VOCAB.stop_ids)


def test_rows_that_are_silenced_get_the_tokens_of_their_grammar() -> None:
    made = LogitsProcessor(None, torch.device("cpu"), False)  # type: ignore[arg-type]
    params = SamplingParams(extra_args={"grammarlm": {"choices": ["abc"]}}, allowed_token_ids=[3])
    made.update_state(BatchUpdate(1, [], [(0, params, [1], [])], []))
    logits = made.apply(torch.full((1, WIDTH), -torch.inf))
    expected = Request({"choices": ["abc"]}, params, []).expected([])
    assert expected is not None
    assert np.array_equal(bits_of(logits[0]), expected)
    assert set(logits[0].tolist()) == {0.0, -torch.inf}
