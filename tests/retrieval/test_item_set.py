"""Item sets that change equal sets made anew; saved ones equal themselves, damaged ones are refused."""

import json

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import grammarlm as gl
from grammarlm.decoding import beam_search
from grammarlm.retrieval.item_set import ItemSet
from tests.oracles.plain_beams import plain_beams

WIDTH = 5


def logits(prefix):
    return np.random.default_rng([len(prefix), *prefix]).standard_normal(WIDTH).astype(np.float32)


def stepper():
    """A `step` that knows what it has read."""
    rows = [()]

    def step(tokens, parents):
        if tokens is not None:
            rows[:] = [(*rows[parent], token) for parent, token in zip(parents, tokens, strict=True)]
        return np.stack([logits(prefix) for prefix in rows])

    return step


def check(items, live, beams, **options):
    """`live`: {row: item} of what must be there."""
    first = {}
    for row in sorted(live):
        first.setdefault(live[row], row)
    result = beam_search(stepper(), items, beams, **options)
    want = plain_beams(logits, first, beams)
    assert result.tokens == [item for _, item in want]
    assert result.items == [first[item] for _, item in want]


item_lists = st.lists(st.lists(st.integers(0, WIDTH - 1), max_size=3).map(tuple), max_size=8)


class History(RuleBasedStateMachine):
    """Rows are added, removed and searched; the model of it is a dictionary."""

    def __init__(self):
        super().__init__()
        self.items, self.live, self.labels = ItemSet(gl.Tokens([]), groups={"label": []}), {}, []

    @rule(rows=item_lists, label=st.integers(0, 2))
    def add(self, rows, label):
        start = len(self.labels)
        numbers = self.items.add(gl.Tokens([list(r) for r in rows]), groups={"label": np.full(len(rows), label)})
        assert numbers == range(start, start + len(rows))
        self.labels += [label] * len(rows)
        self.live |= dict(zip(numbers, rows, strict=True))

    @rule(data=st.data())
    def remove_rows(self, data):
        rows = data.draw(st.sets(st.sampled_from(sorted(self.live)))) if self.live else set()
        assert self.items.remove(rows=rows) == len(rows)
        self.live = {row: item for row, item in self.live.items() if row not in rows}

    @rule(data=st.data())
    def remove_an_item(self, data):
        if self.live:
            item = data.draw(st.sampled_from(sorted(set(self.live.values()))))
            assert self.items.remove(items=[item]) == list(self.live.values()).count(item)
            self.live = {row: i for row, i in self.live.items() if i != item}
            with pytest.raises(ValueError, match="is not in the set"):
                self.items.remove(items=[item])

    @rule(data=st.data(), beams=st.integers(1, 6))
    def search_a_subset(self, data, beams):
        label = data.draw(st.integers(0, 2))
        flags = np.array(data.draw(st.lists(st.booleans(), min_size=len(self.labels), max_size=len(self.labels))), bool)
        exclude = (
            data.draw(st.sets(st.sampled_from(sorted(set(self.live.values()))), max_size=2)) if self.live else set()
        )
        live = {row: item for row, item in self.live.items() if item not in exclude}
        for subset, chosen in (
            ({"label": label}, lambda row: self.labels[row] == label),
            ({"label": [label, 0]}, lambda row: self.labels[row] in (label, 0)),
            ({"label": lambda labels: labels > label}, lambda row: self.labels[row] > label),
            ({"rows": flags}, lambda row: flags[row]),
            ({"rows": np.flatnonzero(flags), "label": label}, lambda row: flags[row] and self.labels[row] == label),
        ):
            wanted = {row: item for row, item in live.items() if chosen(row)}
            check(self.items, wanted, beams, subset=self.items.subset(exclude=exclude, **subset))

    @invariant()
    def all_is_there(self):
        assert len(self.items) == len(self.live)
        check(self.items, self.live, 4)
        assert len(self.items.segments) <= 5


TestHistory = History.TestCase
TestHistory.settings = settings(deadline=None, max_examples=12, stateful_step_count=12)


@pytest.mark.proof
def test_many_histories(record_property):
    record_property("cases", 500)
    run_state_machine_as_test(History, settings=settings(deadline=None, max_examples=500, stateful_step_count=25))


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, WIDTH, (200, 4)) * 20_000
    items = ItemSet(gl.Tokens(matrix, ids=[f"item {i}" for i in range(200)]), groups={"kind": np.arange(200) % 3})
    items.add(gl.Tokens([[1], [20_000, 2], []], ids=["a", "b", "c"]), groups={"kind": [0, 1, 2]})
    items.remove(rows=[5, 201])
    items.save(tmp_path / "set")
    return items, tmp_path / "set"


def found(items, **options):
    def step(tokens, parents):
        rng = np.random.default_rng(0 if tokens is None else [*tokens])
        return rng.standard_normal((len(parents), 80_001)).astype(np.float32)

    return beam_search(step, items, 7, **options)


def test_a_saved_set_is_the_same(saved):
    items, folder = saved
    loaded = ItemSet.load(folder)
    for options in ({}, {"subset": items.subset(kind=1)}):
        a, b = found(items, **options), found(loaded, **options)
        assert (a.tokens, a.items, a.scores, a.ids.tolist()) == (b.tokens, b.items, b.scores, b.ids.tolist())
    assert isinstance(loaded.segments[0].index.low, np.memmap)
    loaded.remove(rows=[6])
    assert loaded.add(gl.Tokens([[9]], ids=["d"]), groups={"kind": [1]}) == range(203, 204)
    with pytest.raises(FileExistsError, match="save to a new folder"):
        items.save(folder)


def damage(folder, name, change):
    array = np.load(folder / f"{name}.npy")
    np.save(folder / f"{name}.npy", change(array.copy()))


def put(place, value):
    def change(array):
        array.flat[place] = value
        return array

    return change


DAMAGES = [
    ("segment0.low", put(3, 65_535), "segment0.low.npy"),
    ("segment0.low", lambda a: a[:, :-1].copy(), "segment0.order.npy: it holds int32"),
    ("segment1.low", lambda a: a[:, ::-1].copy(), "segment1.low.npy: its rows are not sorted"),
    ("segment0.low", lambda a: a.astype(np.int64), "segment0.low.npy: it holds int64"),
    ("segment0.high", put(0, 255), "segment0.low.npy"),
    ("segment0.starts", put(2, 10**6), "segment0.starts.npy: its numbers are not those"),
    ("segment0.order", put(0, 203), "segment0.order.npy: its rows are not within 0 and 202"),
    ("segment0.order", put(0, -1), "segment0.order.npy: its rows are not within"),
    ("segment0.alive", put(-1, 2**63), "segment0.alive.npy: it has bits after the last row"),
    ("segment0.alive", lambda a: a[:-1].copy(), "segment0.alive.npy: it holds uint64"),
    ("group0", lambda a: a[:-1].copy(), "group0.npy: it holds"),
    ("ids", lambda a: a[:-1].copy(), "ids.npy: it holds"),
]


@pytest.mark.parametrize(("name", "change", "message"), DAMAGES)
def test_a_damaged_array_is_refused(saved, name, change, message):
    _, folder = saved
    damage(folder, name, change)
    with pytest.raises(gl.GrammarError, match=message):
        ItemSet.load(folder)


FACTS = [
    (lambda f: f.update(version=2), "not of version 1"),
    (lambda f: f.update(count=-1), "count is -1"),
    (lambda f: f.update(count=True), "count is True"),
    (lambda f: f.update(segments=[]), "it lists no segments"),
    (lambda f: f.update(groups=3), "its groups are no list"),
    (lambda f: f["segments"][0].update(shift=2), "shift is 2"),
    (lambda f: f["segments"][0].update(high_bits=3), "segment 0 has cells up to"),
    (lambda f: f["segments"][0].update(largest=2**18), "segment 0 has cells up to"),
    (lambda f: f["segments"][1].update(first=250), "first is 250"),
    (lambda f: f.update(segments=[3]), "segment 0 is not described"),
]


@pytest.mark.parametrize(("change", "message"), FACTS)
def test_damaged_facts_are_refused(saved, change, message):
    _, folder = saved
    facts = json.loads((folder / "set.json").read_text())
    change(facts)
    (folder / "set.json").write_text(json.dumps(facts))
    with pytest.raises(gl.GrammarError, match=message):
        ItemSet.load(folder)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(gl.GrammarError, match="is no saved item set"):
        ItemSet.load(tmp_path)


def test_searches_see_the_set_as_it_was():
    items = ItemSet(gl.Tokens([[1, 2], [3, 4]]))
    plain = stepper()

    def step(tokens, parents):
        if tokens is None:
            items.remove(rows=[0])
            items.add(gl.Tokens([[0, 0]]))
        return plain(tokens, parents)

    assert sorted(beam_search(step, items, 9).items) == [0, 1]
    assert sorted(beam_search(stepper(), items, 9).items) == [1, 2]


WRONG = [
    (lambda s: s.add(gl.Tokens([[1]])), r"the groups are \['kind'\], and \[\] are given"),
    (lambda s: s.add(gl.Tokens([[1]], ids=[1]), groups={"kind": [1]}), "the rows of this set have no ids"),
    (lambda s: s.add(gl.Tokens([[1]]), groups={"kind": [1, 2]}), r"group 'kind' is an array of int64 with shape \[2\]"),
    (lambda s: s.remove(rows=[1, 1, 5]), "row 5 is not there; there are 2"),
    (lambda s: s.remove(rows=[0]) and s.remove(rows=[0, 1]), "row 0 was removed before"),
    (lambda s: s.subset(colour="red"), r"there is no group 'colour'; there are \['kind'\]"),
    (lambda s: beam_search(stepper(), s, subset=s.subset(np.ones(3, bool))), "the subset has 3 flags for 2 rows"),
    (lambda s: beam_search(stepper(), s, subset=[-1]), "row -1 is not there"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_what_does_not_fit_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call(ItemSet(gl.Tokens([[1, 2], [3, 4]]), groups={"kind": [0, 1]}))
