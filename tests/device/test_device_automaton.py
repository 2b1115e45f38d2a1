"""Batches on a device automaton against matchers, files of automata, and the loop that decodes with them."""

import random

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.logits.sampling import Sampling, draw
from grammarlm.layout.csr import DEAD, FINISHED, FIRST, MISS
from grammarlm.masks.csr.fixed import checked, fixed, load
from tests.mask_bits import ids_of
from tests.masks.csr.csr_walks import ENDLESS, FINITE, STOPS, VOCAB, Walker, walk

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]),
]
BATCH = 5


def rows_of(matchers) -> np.ndarray:
    mask = gl.allocate_mask(len(matchers), VOCAB.size)
    gl.fill_masks(matchers, mask)
    return mask


def decode(automaton: gl.DeviceAutomaton, constraint: gl.Constraint, seed: int, steps: int = 20) -> int:
    """Random texts side by side; masks at each step are the matchers'."""
    rng, texts = random.Random(seed), automaton.batch(BATCH)
    matchers, missed = [constraint.matcher() for _ in range(BATCH)], 0
    for _ in range(steps):
        expected = rows_of(matchers)
        assert np.array_equal(texts.fill_mask().cpu().numpy(), expected)
        tokens = []
        for matcher, row in zip(matchers, expected, strict=True):
            allowed = ids_of(row)
            going_on = [t for t in allowed if t not in STOPS]
            tokens.append(rng.choice(going_on if going_on and rng.random() < 0.9 else allowed))
            matcher.advance(tokens[-1])
        texts.advance_(torch.tensor(tokens, device=automaton.device))
        missed += texts.settle()
        assert (texts.states.cpu() != MISS).all()
        finished = (texts.states == FINISHED).tolist()
        assert finished == [m.is_finished for m in matchers]
    return missed


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "name", ["a loop in the middle", "items", "a record", "json in lark", "thinking, then a record"]
)
def test_a_batch_is_its_matchers(name, device):
    constraint = gl.compile((FINITE | ENDLESS)[name], VOCAB)
    automaton = gl.DeviceAutomaton(constraint, device=device)
    missed = [decode(automaton, constraint, seed) for seed in range(3)]
    assert automaton.misses == sum(missed)
    if name in FINITE:
        assert automaton.complete()
        assert decode(automaton, constraint, 9) == 0


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_that_are_full_begin_anew(device):
    constraint = gl.compile(ENDLESS["a list of records"], VOCAB)
    automaton = gl.DeviceAutomaton(constraint, device=device, states=40, edges=6_000, rows=12)
    other = automaton.batch(2)
    addresses = [array.data_ptr() for array in automaton.csr]
    seed = 0
    while automaton.restarts < 3:
        decode(automaton, constraint, seed)
        seed += 1
    assert addresses == [array.data_ptr() for array in automaton.csr], "nothing moves"
    expected = rows_of([constraint.matcher()] * 2)
    assert np.array_equal(other.fill_mask().cpu().numpy(), expected), "other batches keep their places"
    small = gl.DeviceAutomaton(constraint, device=device, states=5)
    with pytest.raises(gl.LimitExceeded, match="more states"):
        decode(small, constraint, 0)


def test_what_is_refused_is_dead_and_missed_texts_wait():
    constraint = gl.compile(ENDLESS["arithmetic"], VOCAB)
    automaton = gl.DeviceAutomaton(constraint)
    texts = automaton.batch(3)
    texts.advance_(torch.tensor([ord("("), ord(")"), ord("1")]))
    assert texts.states.tolist() == [MISS, DEAD, MISS]
    stops = [list(STOPS)] * 3
    assert [ids_of(row) for row in texts.fill_mask().numpy()] == stops
    texts.advance_(torch.tensor([STOPS[0]] * 3))
    assert texts.states.tolist() == [MISS, DEAD, MISS]
    assert texts.settle() == 2
    assert (texts.states[[0, 2]] >= FIRST).all()
    texts.reset()
    assert texts.states.tolist() == [automaton.start] * 3


def assert_equal_automata(one, constraint: gl.Constraint) -> None:
    class Host:  # what a Walker asks of an automaton
        tables = one
        start = one.start

        @staticmethod
        def follow(state, token):
            raise AssertionError("nothing may be missed")

    for seed in range(4):
        for _ in walk(Walker(constraint, Host), random.Random(seed), 12):
            pass


@pytest.mark.parametrize("name", FINITE)
def test_files_hold_whole_automata(name, tmp_path):
    constraint = gl.compile(FINITE[name], VOCAB)
    automaton = gl.DeviceAutomaton(constraint)
    assert automaton.complete()
    automaton.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz", VOCAB)
    assert_equal_automata(loaded, constraint)
    again = gl.DeviceAutomaton.load(tmp_path / "a.npz", VOCAB)
    assert again.complete()
    assert decode(again, constraint, 0) == 0


def test_item_sets_are_made_whole():
    for seed in range(12):
        rng = random.Random(seed)
        alphabet = rng.sample(range(256), 5)
        items = [[rng.choice(alphabet) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 40))]
        items += [item[:-1] for item in items[:5] if len(item) > 1] + items[:2]
        if seed % 3 == 0:
            items = [(item * 4)[:3] for item in items]
        constraint = gl.compile(gl.Tokens(items), VOCAB)
        automaton = gl.DeviceAutomaton(constraint)
        assert automaton.is_complete
        checked(automaton.host)
        assert_equal_automata(automaton.host, constraint)
        prefixes = {tuple(item[:n]) for item in items for n in range(1, len(item) + 1)}
        going_on = {p for p in prefixes if any(q[: len(p)] == p and len(q) > len(p) for q in prefixes)}
        assert len(automaton.csr.base) == FIRST + 2 + len(going_on)


def test_damaged_files_are_refused(tmp_path):
    automaton = gl.DeviceAutomaton(gl.compile(FINITE["a loop in the middle"], VOCAB))
    with pytest.raises(ValueError, match="complete"):
        gl.DeviceAutomaton(gl.compile(ENDLESS["arithmetic"], VOCAB)).save(tmp_path / "b.npz")
    automaton.complete()
    automaton.save(tmp_path / "a.npz")
    other = gl.Vocabulary([b"a", b"b", b""], stop_ids=[2])
    with pytest.raises(gl.GrammarError, match="another vocabulary"):
        gl.DeviceAutomaton.load(tmp_path / "a.npz", other)
    (tmp_path / "c.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-70])
    with pytest.raises(gl.GrammarError, match="no saved automaton"):
        gl.DeviceAutomaton.load(tmp_path / "c.npz", VOCAB)
    with pytest.raises(FileNotFoundError):
        gl.DeviceAutomaton.load(tmp_path / "none.npz", VOCAB)


def test_every_wild_number_is_noticed():
    """Kernels check no bounds: whatever entry is changed to a number that leads beyond an array, the file is refused."""
    automaton = gl.DeviceAutomaton(gl.compile(FINITE["a loop in the middle"], VOCAB))
    automaton.complete()
    whole, rng = fixed(automaton.host), random.Random(0)
    checked(whole)
    for name in ("base", "default", "first", "count", "tokens", "targets"):
        for value in (-1, 1 << 30):
            for _ in range(10):
                copies = {n: a.copy() for n, a in whole.csr._asdict().items()}
                used = (
                    int((whole.csr.first + whole.csr.count).max())
                    if name in ("tokens", "targets")
                    else len(copies[name])
                )
                places = [p for p in range(used) if name not in ("tokens", "targets") or is_listed(whole.csr, p)]
                copies[name][rng.choice(places)] = value
                with pytest.raises(gl.GrammarError, match="no automaton"):
                    checked(type(whole)(VOCAB, type(whole.csr)(**copies), whole.start))
    with pytest.raises(gl.GrammarError, match="no start"):
        checked(type(whole)(VOCAB, whole.csr, 1))


def is_listed(csr, place: int) -> bool:
    return bool(((csr.first <= place) & (place < csr.first + csr.count)).any())


def forward_of(device: str):
    """A model of one table: logits depend on the token before and the position."""
    table = torch.from_numpy(np.random.default_rng(0).standard_normal((7, VOCAB.size), np.float32)).to(device) * 3

    def forward(tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        return table[(tokens * 3 + position) % 7]

    return forward


def expected_text(constraint: gl.Constraint, forward, seed: int, steps: int, temperature: float) -> list[int]:
    matcher, before, found = constraint.matcher(), 0, []
    for position in range(steps):
        logits = forward(torch.tensor([before]), torch.tensor([position])).numpy().copy()
        gl.apply_mask_(torch.from_numpy(logits), rows_of([matcher]))
        before, _ = draw(logits[0], Sampling(temperature, seed=seed), position)
        assert matcher.advance(before)
        if matcher.is_finished:
            break
        found.append(before)
    return found


@pytest.mark.parametrize("name", ["a loop in the middle", "items", "a record"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_loop_draws_what_a_matcher_would(name, temperature):
    constraint = gl.compile((FINITE | ENDLESS)[name], VOCAB)
    automaton = gl.DeviceAutomaton(constraint)
    if name in FINITE:
        automaton.complete()
    loop = gl.DeviceLoop(forward_of("cpu"), automaton.batch(3), temperature=temperature, seed=4, longest=30)
    found = loop.run(torch.zeros(3, dtype=torch.int64), 24)
    assert found == [expected_text(constraint, forward_of("cpu"), 4 + i, 24, temperature) for i in range(3)]
    assert automaton.misses == 0 or name == "a record"
    with pytest.raises(ValueError, match="longest"):
        loop.run(torch.zeros(3, dtype=torch.int64), 31)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", ["a loop in the middle", "items"])
def test_the_graph_never_waits_for_the_host(name):
    automata = {
        device: gl.DeviceAutomaton(gl.compile(FINITE[name], VOCAB), device=device) for device in ("cpu", "cuda")
    }
    texts = {}
    for device, automaton in automata.items():
        assert automaton.complete()
        loop = gl.DeviceLoop(forward_of(device), automaton.batch(4), temperature=1.0, seed=1, longest=30)
        first = torch.zeros(4, dtype=torch.int64, device=device)
        loop.run(first, 2)  # captures
        loop.texts.reset()
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("error")
            try:
                for _ in range(5):
                    loop._graph.replay()
            finally:
                torch.cuda.set_sync_debug_mode("default")
            loop.texts.reset()
        texts[device] = loop.run(first, 24)
    assert texts["cpu"] == texts["cuda"]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: gl.DeviceAutomaton(gl.Choices(["a"])), TypeError, "what gl.compile makes"),
        (lambda: gl.DeviceAutomaton(gl.compile(gl.Choices(["a"]), VOCAB), device="meta"), gl.MaskError, "CUDA"),
        (lambda: gl.DeviceAutomaton(gl.compile(gl.Choices(["a"]), VOCAB), states=2), ValueError, "states=2"),
        (lambda: gl.DeviceAutomaton(gl.compile(gl.Choices(["a"]), VOCAB)).batch(0), ValueError, "1 or more"),
    ],
)
def test_wrong_arguments(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_wrong_tensors():
    texts = gl.DeviceAutomaton(gl.compile(gl.Choices(["a"]), VOCAB)).batch(2)
    for tokens in (
        torch.zeros(3, dtype=torch.int64),
        torch.zeros(2, dtype=torch.int32),
        torch.zeros(4, dtype=torch.int64)[::2],
    ):
        with pytest.raises(gl.MaskError, match="this batch takes"):
            texts.advance_(tokens)
    with pytest.raises(gl.MaskError, match="this batch takes"):
        texts.fill_mask(torch.zeros((2, 1), dtype=torch.int32))
