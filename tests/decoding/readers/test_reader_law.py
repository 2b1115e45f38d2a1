"""Every reader: whatever was read, taken back, repeated and dropped, the logits are those of a forward over the whole texts."""

import random

import pytest

from grammarlm.decoding.readers import cached, realign
from grammarlm.decoding.readers.cached import static_caches_are_right
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import open_reader
from tests.decoding.random_models import Forwards, random_model
from tests.decoding.readers.sources import ROOM, SOURCES, WIDTH, Source, check, go_back, more, reorder, some_tree
from tests.rounding import assert_logits

torch = pytest.importorskip("torch")

ROUNDS = 5
COUNTS = [2, pytest.param(30, marks=pytest.mark.proof)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", SOURCES)
def test_a_reader_is_a_forward_over_the_whole_texts(name, count):
    if name.endswith("static") and not static_caches_are_right():
        pytest.skip("static caches are refused")
    source = Source(name)
    choose = random.Random(name)
    for _ in range(count):
        prompts = [
            [choose.randrange(5, WIDTH) for _ in range(choose.randint(1, 6))] for _ in range(choose.randint(1, 4))
        ]
        reader = source.reader(prompts)
        answers = [[] for _ in prompts]
        chunks, scored = reader.beginnings, [1] * len(prompts)
        for _ in range(8):
            logits = reader.read(chunks, scored)
            check(logits, source, [*zip(prompts, answers, scored, [DraftTree()] * len(prompts), strict=True)])
            for act in choose.sample([reorder, go_back, go_back], choose.randint(0, 2)):
                prompts, answers = act(choose, reader, prompts, answers)
            chunks, scored = more(choose, answers)
            answers = [answer + chunk for answer, chunk in zip(answers, chunks, strict=True)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", SOURCES)
def test_nodes_of_draft_trees_are_forwards_over_their_paths(name, count):
    """Trees, chains and nothing, of texts of any length; then some path of each is kept, and what follows is right."""
    if name.endswith("static") and not static_caches_are_right():
        pytest.skip("static caches are refused")
    source = Source(name)
    choose = random.Random(name)
    for _ in range(count - 1):
        prompts = [
            [choose.randrange(5, WIDTH) for _ in range(choose.randint(1, 6))] for _ in range(choose.randint(1, 3))
        ]
        reader = source.reader(prompts)
        answers = [[] for _ in prompts]
        chunks, scored = reader.beginnings, [1] * len(prompts)
        if choose.random() < 0.5:
            check(
                reader.read(chunks, scored),
                source,
                [*zip(prompts, answers, scored, [DraftTree()] * len(prompts), strict=True)],
            )
            chunks, scored = more(choose, answers)
            answers = [answer + chunk for answer, chunk in zip(answers, chunks, strict=True)]
        for _ in range(ROUNDS):
            trees = [some_tree(choose) for _ in prompts]
            while not any(scored) and not any(map(len, trees)):
                trees = [some_tree(choose) for _ in prompts]
            logits = reader.read_trees(chunks, scored, trees)
            check(logits, source, [*zip(prompts, answers, scored, trees, strict=True)])
            paths = [tree.path(choose.randrange(-1, len(tree))) for tree in trees]
            reader.keep(paths)
            answers = [
                answer + [tree.tokens[node] for node in path]
                for answer, tree, path in zip(answers, trees, paths, strict=True)
            ]
            for act in choose.sample([reorder, go_back], choose.randint(0, 1)):
                prompts, answers = act(choose, reader, prompts, answers)
            chunks, scored = more(choose, answers)
            if choose.random() < 0.3:  # the trees alone
                chunks, scored = [[] for _ in prompts], [0 for _ in prompts]
            answers = [answer + chunk for answer, chunk in zip(answers, chunks, strict=True)]


@pytest.mark.parametrize("count", [3, pytest.param(30, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", ["Llama", "GPT2", "Qwen2", "embedded"])
def test_a_realigned_cache_is_the_same_text(name, count, monkeypatch):
    """EQSPEC: both laws, where each hole of a cache is closed at once."""
    moved, kept = [], cached.realign

    def watched(cache, slots, device):
        moved.append(len(slots[0]))
        left = kept(cache, slots, device)
        assert {len(row) for row in left} == {layer.keys.shape[2] for layer in cache.layers}
        assert list(map(sum, left)) == list(map(sum, slots))
        return left

    monkeypatch.setattr(cached, "realign", watched)
    monkeypatch.setattr(realign, "SHARE", 1.0)
    monkeypatch.setattr(realign, "SLACK", 0)
    test_a_reader_is_a_forward_over_the_whole_texts(name, count)
    test_nodes_of_draft_trees_are_forwards_over_their_paths(name, count)
    assert len(moved) > min(10, 2 * count - 1)


def test_a_cache_is_hardly_longer_than_its_longest_text():
    """EQSPEC: eight texts that keep another part of each draft; else each forward would read past all that was cut."""
    model = random_model("Llama", WIDTH)
    forwards, choose = Forwards(model), random.Random(3)
    reader = open_reader(model, [[5, 6 + row] for row in range(8)], 400)
    reader.read(reader.beginnings, [1] * 8)
    lengths, written = [2] * 8, 2
    for _ in range(60):
        counts = [choose.choice((0, 0, 4)) for _ in range(8)]
        reader.read([[choose.randrange(5, WIDTH) for _ in range(5)] for _ in range(8)], [1] * 8)
        reader.rollback([4 - count for count in counts])
        lengths = [length + 1 + count for length, count in zip(lengths, counts, strict=True)]
        written += 1 + max(counts)
    assert max(forwards.cached) <= 1.25 * max(lengths) + 16 + 5
    assert written > 1.5 * max(lengths)


@pytest.mark.parametrize("kind", ["Llama", "GPT2", "Mistral"])
def test_what_costs_the_whole_texts_is_said_beforehand(kind):
    """Ids that the model reads: only new ones where unequal chunks and rollbacks are cheap."""
    source = Source(kind)
    forwards = Forwards(source.model)
    reader = source.reader([[5, 6, 7], [8]])
    assert not reader.rollback_is_cheap  # not known yet
    reader.read(reader.beginnings, [1, 1])
    is_cheap = kind != "Mistral"
    assert (reader.unequal_is_cheap, reader.rollback_is_cheap) == (is_cheap, is_cheap)
    reader.read([[9, 10, 11], [12]], [2, 1])
    reader.rollback([2, 0])
    reader.read([[13], [14]], [1, 1])
    assert [width for _, width in forwards.shapes] == ([3, 3, 1] if is_cheap else [3, 6, 5])


def test_slots_that_no_text_needs_are_cut():
    """Drafts that are refused again and again: a cache of one text has no holes, and does not grow."""
    source = Source("Llama")
    forwards = Forwards(source.model)
    reader = source.reader([[5, 6]])
    reader.read(reader.beginnings, [1])
    for _ in range(5):
        reader.read([[7, 8, 9, 10]], [4])
        reader.rollback([3])
    assert forwards.cached == [0, 2, 3, 4, 5, 6]


@pytest.mark.skipif(not static_caches_are_right(), reason="static caches are refused")
def test_a_static_cache_holds_texts_that_grow_unequally():
    """One text is nearly as long as there is room for, so the other's slots begin with pads; then it grows alone."""
    source = Source("Llama static")
    choose = random.Random(3)
    prompts, answer = [[5, 6], [7, 8, 9]], [choose.randrange(5, WIDTH) for _ in range(ROOM)]
    reader = source.reader(prompts)
    reader.read(reader.beginnings, [1, 1])
    reader.read([answer[:50], answer[:1]], [1, 1])
    reader.select([1])
    for at in range(1, ROOM):
        logits = reader.read([answer[at : at + 1]], [1])
    assert_logits(logits, source.oracle(prompts[1], answer)[-1:])
