"""Schedules: within a budget of memory, while the target reads, and row by row; answers are those without a draft."""

import functools
import gc
import itertools
import threading
import time
import tracemalloc

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.copying import Copy
from grammarlm.decoding.speculative.drafters.drafter import RunDrafter
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.masks.draft_tree import MaskTree
from grammarlm.published.schedules.ahead import THREAD
from grammarlm.published.schedules.memory import Memory
from grammarlm.published.schedules.parallel import Parallel
from grammarlm.published.schedules.rooms import MOST, Rooms
from tests.decoding.planted import Planted, noise
from tests.decoding.random_models import given_cache, random_model
from tests.decoding.speculative.draft_models import (
    GRAMMARS,
    STOP,
    VOCAB,
    WIDTH,
    Agreeing,
    HashModel,
    prompts,
    transformers_model,
)

DRAWS = ({}, {"temperature": 1.0, "seed": 5})


def equal(model, asked, make, **options):
    """The answers with a draft, which are those without."""
    plain = gl.generate(model, asked, vocab=VOCAB, **options)
    drafted = gl.generate(model, asked, vocab=VOCAB, draft=make(), **options)
    assert [out.tokens for out in drafted] == [out.tokens for out in plain]
    assert [out.finish_reason for out in drafted] == [out.finish_reason for out in plain]
    return drafted


def test_a_schedule_is_an_object():
    with pytest.raises(TypeError, match=r"schedule is a Schedule, such as Memory\(4\), not str"):
        gl.Draft("copy", schedule="memory")
    with pytest.raises(ValueError, match="megabytes=0; it takes a number, above 0 megabytes"):
        Memory(0)
    with pytest.raises(ValueError, match="needs one drafter that goes on token by token"):
        gl.generate(HashModel(1, 2), [5], vocab=VOCAB, draft=gl.Draft("copy", schedule=Parallel()))


# ------------------------------------------------------------------ memory

WIDE = 32_000


@pytest.fixture(scope="module")
def vocab():
    """One in which the logits of one node are 128 kB."""
    tokens = [b"<pad>", *(bytes([i]) for i in range(256)), *(f"{i:05d}".encode() for i in range(WIDE - 258)), b"</s>"]
    return gl.Vocabulary(tokens, stop_ids=[WIDE - 1], special_ids=[0, WIDE - 1])


class Watched:
    """A model whose answers copy a text of their prompts, and the most bytes that its forwards make for the nodes of drafts."""

    def __init__(self, model, texts):
        self.most, self.forward = 0, model.forward
        self.after = {one: other for text in texts for one, other in itertools.pairwise(text)}
        model.forward = functools.wraps(model.forward)(self)

    def __call__(self, input_ids, **options):
        output = self.forward(input_ids=input_ids, **options)
        kept = output.logits.shape[1]
        for row, ids in enumerate(input_ids.tolist()):
            for at, token in enumerate(ids[len(ids) - kept :]):
                if token in self.after:
                    output.logits[row, at, self.after[token]] += 50.0
        rows, width = input_ids.shape
        keys = [each for layer in given_cache(output).layers for each in (layer.keys, layer.values)]
        slots = keys[0].shape[2]
        if width < slots:  # no prompts: beyond one id a row
            mask = options.get("attention_mask")
            held = (
                rows * (kept - 1) * WIDE * (output.logits.element_size() + 4)
            )  # the model's, and as they are drawn from
            held += sum(each.nbytes for each in keys) // slots * (width - 1)
            self.most = max(self.most, held + (0 if mask is None else mask.nbytes - mask.nbytes // width))
        return output


@pytest.mark.parametrize("drafter", ["copy", "model"])
def test_drafts_stay_within_their_memory(drafter, vocab):
    """SpecMemo: what drafts hold is at most 1, 4 and 16 MB; more memory is longer drafts, and fewer forwards."""
    model = random_model("Llama", WIDE, hidden_size=16, intermediate_size=16, eos_token_id=WIDE - 1)
    texts = [np.random.default_rng(seed).permutation(np.arange(300, WIDE - 1))[:31].tolist() for seed in range(2)]
    asked = [[*text, 9, text[0]] for text in texts]
    watched = Watched(model, texts)
    small = random_model(
        "Llama", WIDE, hidden_size=8, intermediate_size=8, num_attention_heads=1, num_key_value_heads=1
    )
    Watched(small, texts)
    options = {"vocab": vocab, "max_tokens": 30, "close": False}

    def peak(draft):
        """Of numpy's arrays and Python's objects."""
        watched.most = 0
        tracemalloc.start()
        outs = gl.generate(model, asked, draft=draft, **options)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert [out.tokens for out in outs] == [text[1:] for text in texts]
        return most, max(out.stats.forwards for out in outs)

    peak(gl.Draft("copy", length=1))  # what is made once
    plain, _ = peak(None)
    forwards = []
    for megabytes in (1, 4, 16):
        own = Copy() if drafter == "copy" else ModelDrafter(small)
        objects, count = peak(gl.Draft(own, length=20, schedule=Memory(megabytes)))
        assert watched.most + max(0, objects - plain) <= megabytes * 1e6
        forwards.append(count)
    assert forwards[0] > 1.5 * forwards[1] > 2 * forwards[2]


# ------------------------------------------------------------------ while the target reads


class Slow:
    """A model that takes its time, as a hash of its ids says, and remembers who called."""

    def __init__(self, model, seed, most=0.001):
        self.model, self.rng, self.most, self.threads = model, np.random.default_rng(seed), most, []

    def __call__(self, ids):
        self.threads.append(threading.current_thread())
        time.sleep(self.rng.uniform(0, self.most))
        return self.model(ids)


def near(target, other=None):
    return Agreeing(target, other or HashModel(6, 2))


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("branches", [1, 3])
def test_random_delays_change_no_answer(branches):
    """PEARL, Mirror-SD: drafting goes on while the target reads; nothing that was drafted ahead is left over, and no thread."""
    target, kept = HashModel(5, 3), []  # drafts are alive when forks are looked for
    for number, (name, grammar) in enumerate(GRAMMARS.items()):
        for sampling in DRAWS:
            schedule = Parallel(ahead=3, branches=branches)
            draft = gl.Draft(near(Slow(target, number), Slow(HashModel(6, 2), 7)), schedule=schedule)
            options = {"max_tokens": 40 if name in ("schema", "sql") else 20, "grammar": grammar, **sampling}
            equal(Slow(target, 3), prompts(2, number), lambda draft=draft: draft, **options)
            assert sum(each.drafted for each in schedule.trace) > 0 or name == "items"
            kept.append(draft)
    gc.collect()
    # By type: isinstance asks an object for its class, and dead proxies of other tests cannot answer.
    assert not [each for each in gc.get_objects() if issubclass(type(each), (DraftBuilder, MaskTree))]
    assert not [each for each in threading.enumerate() if each.name == THREAD]


def test_the_draft_goes_on_while_the_target_reads():
    """PEARL: a target whose forward waits for a draft that waits for this forward comes to an end; the trace says so, too."""
    reading, drafted, met = threading.Event(), threading.Event(), []
    model = HashModel(5, 3)

    class Target:
        forwards = 0

        def __call__(self, ids):
            Target.forwards += 1
            if Target.forwards <= 7:
                drafted.clear()
                reading.set()
                met.append(drafted.wait(5))
                reading.clear()
            return model(ids)

    class Draft:
        rounds = 0
        last = None

        def __call__(self, ids):
            thread = threading.current_thread()
            if thread is threading.main_thread() or thread is Draft.last:
                return model(ids)
            Draft.last, Draft.rounds = thread, Draft.rounds + 1
            if Draft.rounds <= 7:  # its first call of a round
                met.append(reading.wait(5))
                drafted.set()
            return model(ids)

    schedule = Parallel(ahead=3)
    options = {"vocab": VOCAB, "regex": "[a-z]{60}"}
    out = gl.generate(Target(), [5, 6], draft=gl.Draft(Draft(), schedule=schedule), **options)
    assert out.tokens == gl.generate(model, [5, 6], **options).tokens
    assert len(met) == 14
    assert all(met)
    for each in list(schedule.trace)[:7]:
        assert each.drafted
        assert max(each.drafting[0], each.reading[0]) < min(each.drafting[1], each.reading[1])


def test_branches_are_tried_where_the_next_token_is_unsure():
    """Mirror-SD: the target's token is the draft's second choice at each end of a chain; with branches it is drafted ahead,
    and only branches that the grammar allows are."""
    text = np.random.default_rng(4).integers(99, 105, 60).tolist()  # letters a to f
    prompt = [5, 6, 7]
    target = Planted(noise(WIDTH, deviation=0.3), {tuple(prompt): [*text, STOP]})
    taken = {}
    for branches in (1, 3):
        asked = []

        class Second:
            """Right, but at every fifth place the text's token is the third best, after a forbidden and another letter."""

            def __call__(self, ids):
                logits = target(ids)
                for row, said in enumerate(ids.tolist()):
                    for end in range(len(prompt), len(said) + 1):
                        if (end - len(prompt)) % 5 == 4:
                            logits[row, end - 1, 200] += 50.0
                            logits[row, end - 1, 99 + (end * 7) % 6] += 40.0
                return logits

        class Watching(ModelDrafter):
            def after(self, tips, width, asked=asked):
                asked.extend((growth.row, list(growth.ids), growth.tree.tokens_to(node)) for growth, node in tips)
                return super().after(tips, width)

        schedule = Parallel(ahead=5, branches=branches)
        draft = gl.Draft(Watching(Second()), length=4, schedule=schedule)
        out = gl.generate(target, prompt, vocab=VOCAB, regex="[a-f]{60}", draft=draft)
        assert out.tokens == text
        taken[branches] = sum(each.taken for each in schedule.trace)
        constraint = gl.compile(gl.Regex("[a-f]{60}"), VOCAB)
        for _, ids, path in asked:
            matcher = constraint.matcher()
            assert all(matcher.advance(token) for token in path), path
            assert ids[: len(prompt)] == prompt
        assert asked
    assert taken[3] > 1.5 * taken[1]


# ------------------------------------------------------------------ row by row

SIXTEEN = [
    *(gl.Regex(f"[{chr(97 + at)}-{chr(101 + at)}]{{{5 + at},30}}") for at in range(5)),
    *(gl.Regex(f"(true|false|[0-9]{{{at}}}, ){{3,20}}é") for at in (2, 3, 4)),
    *GRAMMARS.values(),
    gl.JsonSchema({"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 9}),
    gl.Choices(["redish", "radish", "rubbish", "real"]),
    gl.Regex("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
]


@pytest.mark.parametrize(
    ("kind", "drafters"),
    [
        *(("hash", "lookup model"), ("Llama", "model"), ("Mistral", "lookup"), ("Mamba", "model")),
        *(("static", "lookup"), ("T5", "model")),
        *(
            pytest.param(kind, "lookup model", marks=pytest.mark.proof)
            for kind in ("Llama", "Mistral", "Mamba", "static", "T5")
        ),
    ],
)
def test_sixteen_prompts_with_sixteen_grammars(kind, drafters):
    """EQSPEC, EXSPEC: in one batch each row draws what it draws alone, on every kind of cache, and advances by its own count."""
    assert len(SIXTEEN) == 16
    model = HashModel(5, 3) if kind == "hash" else transformers_model("Llama" if kind == "static" else kind)
    options = {"vocab": VOCAB, "max_tokens": 32, **({"cache": "static"} if kind == "static" else {})}
    asked = prompts(16, 9)
    makers = {
        "lookup": lambda: gl.Draft(["suffix", "copy", "skeleton"]),
        "model": lambda: gl.Draft(near(HashModel(5, 3))),
    }
    for sampling in DRAWS[: 1 if kind in ("Mamba", "T5", "static", "Mistral") else 2]:
        alone = [gl.generate(model, p, grammar=g, **options, **sampling) for p, g in zip(asked, SIXTEEN, strict=True)]
        for make in map(makers.get, drafters.split()):
            together = gl.generate(model, asked, grammar=SIXTEEN, batch_size=16, draft=make(), **options, **sampling)
            assert [out.tokens for out in together] == [out.tokens for out in alone]
            for out in together:
                stats = out.stats
                assert stats.tokens <= stats.forwards + stats.accepted_tokens + stats.forced_tokens
            assert len({out.stats.accepted_tokens for out in together}) > 2  # ragged


def test_rows_draft_as_far_as_their_drafts_fare():
    """FASER: among rows that repeat themselves and rows that do not, the first get long drafts and the others nearly none."""
    rng = np.random.default_rng(1)
    plain = [rng.permutation(np.arange(130, 257))[:60].tolist() for _ in range(4)]
    periodic = [(rng.permutation(np.arange(2, 100))[:6].tolist() * 10)[:60] for _ in range(4)]
    texts = [*plain, *periodic]
    asked = [[9, 100 + row, *[103, 104, 105] * 2] for row in range(8)]
    model = Planted(noise(WIDTH, deviation=0.3), {tuple(p): [*t, STOP] for p, t in zip(asked, texts, strict=True)})

    class Last(RunDrafter):
        """What followed the last token before; where it is new, that token again."""

        def runs(self, growth, length, count):
            ids = growth.ids
            at = next((at + 1 for at in range(len(ids) - 2, -1, -1) if ids[at] == ids[-1]), None)
            return [(ids[at:] * length)[:length] if at else [ids[-1]] * length]

    outs = {}
    for schedule in (None, Rooms()):
        draft = gl.Draft(Last(), length=MOST, schedule=schedule)
        outs[schedule] = gl.generate(model, asked, vocab=VOCAB, max_tokens=70, draft=draft)
        assert [out.tokens for out in outs[schedule]] == texts
    fixed, fitted = (found for found in outs.values())
    assert sum(out.stats.draft_tokens for out in fitted[:4]) < 0.15 * sum(out.stats.draft_tokens for out in fixed[:4])
    assert max(out.stats.forwards for out in fitted[4:]) <= 1.3 * max(out.stats.forwards for out in fixed[4:])


@pytest.mark.parametrize("each", [False, pytest.param(True, marks=pytest.mark.proof)], ids=["some", "each"])
@pytest.mark.parametrize("kind", ["hash", "Llama", "Mistral", "T5"])
def test_rooms_of_zero_to_eight_that_come_and_go(kind, each):
    """FASER: each row has another room in each round, 0 included, while rows end at different times."""
    model = HashModel(5, 3) if kind == "hash" else transformers_model(kind)
    rng = np.random.default_rng(2)
    rooms = []

    def of(rows):
        rooms.append([int(room) for room in rng.integers(0, MOST + 1, len(rows))])
        return rooms[-1]

    grammars = [GRAMMARS[name] for name in ("regex", "none", "schema", "sql", "items", "regex", "none", "schema")]
    drafters = (["copy", "suffix"], near(HashModel(5, 3)))
    for at, sampling in enumerate(DRAWS):
        options = {"grammar": grammars, "max_tokens": 32, "batch_size": 8, **sampling}
        for drafter in drafters if each else (drafters[at],):
            equal(model, prompts(8, 4), lambda drafter=drafter: gl.Draft(drafter, schedule=Rooms(of)), **options)
    assert {room for each in rooms for room in each} == set(range(MOST + 1))
    assert len({len(each) for each in rooms}) > 3
