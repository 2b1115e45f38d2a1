"""Texts that join a batch that is being read, leave it and come back: the logits are those of forwards over whole texts."""

import random

import pytest

from grammarlm.decoding.readers.cached import static_caches_are_right
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import open_reader
from grammarlm.decoding.readers.recurrent import RecurrentReader
from grammarlm.published.readers.split import SplitReader
from tests.decoding.random_models import Forwards, random_model
from tests.decoding.readers.sources import SOURCES, WIDTH, Source, check, go_back, more, reorder, some_tree
from tests.decoding.speculative.state_space import LinearStates

torch = pytest.importorskip("torch")


class States(Source):
    """A model that is read by its state."""

    def __init__(self):
        self.kind, self.width, self.model = "states", WIDTH, LinearStates(1, WIDTH)

    def reader(self, prompts):
        return RecurrentReader(self.model, prompts)

    def oracle(self, prompt, answer):
        return self.model(torch.tensor([[*prompt, *answer]]))[0, len(prompt) - 1 :].float()


@pytest.mark.parametrize("count", [1, pytest.param(60, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", [*SOURCES, "states"])
def test_texts_join_leave_and_come_back(name, count):
    """Read alone before, or read first with the others; chains and trees, rollbacks and selections between."""
    if name.endswith("static") and not static_caches_are_right():
        pytest.skip("static caches are refused")
    source = States() if name == "states" else Source(name)
    choose = random.Random(name)
    for _ in range(count):
        prompts = new_prompts(choose)
        reader, answers = begun(source, prompts, choose.random() < 0.3)
        away = None
        for turn in range(8):
            if len(prompts) < 6 and choose.random() < 0.5:
                more_prompts = new_prompts(choose)
                is_read = name == "blend" or choose.random() < 0.6
                in_trees = choose.random() < 0.3
                other = begun(source, more_prompts, in_trees)[0] if is_read else source.reader(more_prompts)
                reader.join(other)
                if not is_read:  # all others read something, too
                    chunks = [*([choose.randrange(5, WIDTH)] for _ in answers), *other.beginnings]
                    answers = [answer + chunk for answer, chunk in zip(answers, chunks, strict=False)]
                    prompts, answers = prompts + more_prompts, answers + [[] for _ in more_prompts]
                    scored = [1] * len(prompts)
                    check(reader.read(chunks, scored), source, texts_of(prompts, answers, scored))
                else:
                    prompts, answers = prompts + more_prompts, answers + [[] for _ in more_prompts]
            if away is None and len(prompts) > 1 and choose.random() < 0.4:
                going = choose.sample(range(len(prompts)), choose.randint(1, len(prompts) - 1))
                staying = [at for at in range(len(prompts)) if at not in going]
                away = reader.taken(going), [prompts[at] for at in going], [answers[at] for at in going]
                reader.select(staying)
                prompts, answers = [prompts[at] for at in staying], [answers[at] for at in staying]
            elif away is not None and choose.random() < 0.5:
                reader.join(away[0])
                prompts, answers, away = prompts + away[1], answers + away[2], None
            for act in choose.sample([reorder, go_back], choose.randint(0, 1)):
                prompts, answers = act(choose, reader, prompts, answers)
            chunks, scored = more(choose, answers)
            answers = [answer + chunk for answer, chunk in zip(answers, chunks, strict=True)]
            if turn % 3 == 2:
                trees = [some_tree(choose) for _ in prompts]
                logits = reader.read_trees(chunks, scored, trees)
                check(logits, source, texts_of(prompts, answers, scored, trees))
                paths = [tree.path(choose.randrange(-1, len(tree))) for tree in trees]
                reader.keep(paths)
                drawn = [[tree.tokens[node] for node in path] for tree, path in zip(trees, paths, strict=True)]
                answers = [answer + tokens for answer, tokens in zip(answers, drawn, strict=True)]
            else:
                check(reader.read(chunks, scored), source, texts_of(prompts, answers, scored))


def new_prompts(choose):
    return [[choose.randrange(5, WIDTH) for _ in range(choose.randint(1, 6))] for _ in range(choose.randint(1, 3))]


def begun(source, prompts, in_trees=False):
    """A reader that has read these prompts, and their answers."""
    reader, answers, scored = source.reader(prompts), [[] for _ in prompts], [1] * len(prompts)
    if in_trees:
        trees = [DraftTree() for _ in prompts]
        for tree in trees:
            tree.add(7, -1)
        logits = reader.read_trees(reader.beginnings, scored, trees)
        check(logits, source, texts_of(prompts, answers, scored, trees))
        reader.keep([[]] * len(prompts))
    else:
        check(reader.read(reader.beginnings, scored), source, texts_of(prompts, answers, scored))
    return reader, answers


def texts_of(prompts, answers, scored, trees=None):
    return [*zip(prompts, answers, scored, trees or [DraftTree()] * len(prompts), strict=True)]


@pytest.mark.parametrize("is_longer", [False, True])
def test_a_text_that_joins_is_padded_and_not_read_again(is_longer):
    source = Source("Llama")
    forwards = Forwards(source.model)
    first, second = [5, 6, 7, 8, 9], [8, 9]
    readers = [begun(source, [prompt])[0] for prompt in ((first, second) if is_longer else (second, first))]
    forwards.shapes.clear()
    readers[0].join(readers[1])
    readers[0].read([[11], [12]], [1, 1])
    assert forwards.shapes == [(2, 1)]
    assert forwards.cached[-1] == 5
    readers[0].taken([1 if is_longer else 0]).read([[13]], [1])  # the short one alone has no pads
    assert forwards.cached[-1] == 3


@pytest.mark.parametrize("in_trees", [(True, False), (False, True), (True, True)])
def test_texts_that_were_read_without_a_cache_join(in_trees):
    """The first read of a tree, which is in no cache."""
    source = Source("Llama")
    (reader, _), (other, _) = (
        begun(source, [prompt], trees) for prompt, trees in zip(([5, 6], [8, 9, 10]), in_trees, strict=True)
    )
    reader.join(other)
    check(reader.read([[11], [12]], [1, 1]), source, texts_of([[5, 6], [8, 9, 10]], [[11], [12]], [1, 1]))


def test_readers_whose_texts_belong_to_their_batch_say_so():
    model = random_model("Llama", WIDTH)
    plain = open_reader(model, [[5, 6]], 9)
    reader = SplitReader(model, [[5, 6]], 1)
    with pytest.raises(ValueError, match="neither join others nor are taken out"):
        reader.join(plain)
    with pytest.raises(ValueError, match="neither join others nor are taken out"):
        reader.taken([0])
