"""Rows that join and leave a running batch under drafts, and batches of equal lengths: answers are those of each prompt alone."""

import functools
import itertools

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.loop.unread import Unread
from grammarlm.published.schedules.lengths import Lengths
from grammarlm.published.schedules.rooms import Rooms
from tests.decoding.planted import Planted, noise
from tests.decoding.random_models import given_cache
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
from tests.rounding import LOG_P

torch = pytest.importorskip("torch")

KINDS = ["hash", "Llama", "Mistral", "static", "Mamba", "T5"]
NAMES = ["regex", "none", "schema", "sql", "items"]
SAMPLED = {"temperature": 1.0, "seed": 5}


class Watched:
    """Of each forward of a transformers model the rows, and how many pads they hold: beside what is read, and in the cache."""

    def __init__(self, model):
        self.model, self.rows, self.pads, self.ids = model, [], [], []
        self.forward = model.forward
        model.forward = functools.wraps(model.forward)(self)

    def __call__(self, input_ids, **options):
        mask, cache = options.get("attention_mask"), given_cache(options)
        held = input_ids.numel() + (0 if cache is None else cache.get_seq_length() * len(input_ids))
        self.rows.append(len(input_ids))
        self.pads.append(0 if mask is None else held - int(mask.sum()))
        self.ids.append(input_ids.numel())
        return self.forward(input_ids=input_ids, **options)


def model_of(kind):
    return HashModel(5, 3) if kind == "hash" else transformers_model("Llama" if kind == "static" else kind)


def drafts(schedule):
    return {
        "lookup": lambda: gl.Draft(["suffix", "copy", "skeleton"], schedule=schedule()),
        "tree": lambda: gl.Draft("recycle", tree="fixed", schedule=schedule()),
        "model": lambda: gl.Draft(Agreeing(HashModel(5, 3), HashModel(6, 2)), schedule=schedule()),
    }


@pytest.mark.parametrize(
    ("kind", "which", "count", "schedule"),
    [
        *(("hash", number, 11, schedule) for number in range(3) for schedule in (Rooms, Lengths)),
        *((kind, at % 3, 6, (Rooms, Lengths)[at % 2]) for at, kind in enumerate(KINDS)),
        *(
            pytest.param(kind, number, 60, schedule, marks=pytest.mark.proof)
            for kind in KINDS
            for number in range(3)
            for schedule in (Rooms, Lengths)
        ),
    ],
)
def test_rows_that_come_and_go_change_no_answer(kind, which, count, schedule):
    """EXSPEC, FASER: more prompts than places, each with its grammar; greedy and sampled, some with several answers."""
    model = model_of(kind)
    asked, grammars = prompts(count, 9), [GRAMMARS[NAMES[at % 5]] for at in range(count)]
    options = {"vocab": VOCAB, "max_tokens": 24, **({"cache": "static"} if kind == "static" else {})}
    name, make = list(drafts(schedule).items())[which]
    more = {**options, **(SAMPLED if which else {}), **({"n": 2} if name == "tree" else {})}
    alone = [gl.generate(model, p, grammar=g, **more) for p, g in zip(asked, grammars, strict=True)]
    alone = list(itertools.chain(*alone)) if "n" in more else alone
    together = gl.generate(model, asked, grammar=grammars, batch_size=4, draft=make(), **more)
    assert [out.tokens for out in together] == [out.tokens for out in alone]
    assert [out.finish_reason for out in together] == [out.finish_reason for out in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, rel=0, abs=LOG_P)


def texts_of_lengths(lengths):
    """A model that writes for each prompt a text of this length, and the prompts."""
    rng = np.random.default_rng(1)
    asked = [[9, 100 + row] for row in range(len(lengths))]
    written = [rng.permutation(np.arange(130, 257))[:length].tolist() for length in lengths]
    planted = {tuple(p): [*t, STOP] for p, t in zip(asked, written, strict=True)}
    return Planted(noise(WIDTH, deviation=0.3), planted), asked, written


def test_the_next_prompt_begins_where_an_answer_has_ended():
    """FASER: of each four answers one is long; batches that wait for it read it alone most of the time."""
    lengths = [60 if at % 4 == 0 else 6 for at in range(16)]
    model, asked, written = texts_of_lengths(lengths)
    calls = []

    def watched(ids):
        calls.append(len(ids))
        return model(ids)

    for draft in (None, gl.Draft("copy")):
        calls.clear()
        outs = gl.generate(watched, asked, vocab=VOCAB, max_tokens=70, batch_size=4, draft=draft)
        assert [out.tokens for out in outs] == written
        assert max(calls) <= 4
        in_batches = sum(max(out.stats.forwards for out in outs[first : first + 4]) for first in range(0, len(outs), 4))
        assert in_batches >= 4 * 61
        assert len(calls) < 0.6 * in_batches


# ------------------------------------------------------------------ equal lengths


def guessing(model):
    """The same model, wrong after a third of the ids."""
    forward = model.forward

    @functools.wraps(forward)
    def read(input_ids, **options):
        output = forward(input_ids=input_ids, **options)
        kept = output.logits.shape[1]
        odd = (input_ids[:, input_ids.shape[1] - kept :] * 2654435761 >> 7) % 3 == 0
        output.logits = torch.where(odd[..., None], output.logits.roll(1, -1), output.logits)
        return output

    model.forward = read
    return model


@pytest.mark.parametrize("kind", ["Llama", pytest.param("Qwen2", marks=pytest.mark.proof)])
def test_rows_of_equal_length_are_read_together(kind):
    """EXSPEC: rows accept different numbers of tokens; out of a pool batches have hardly a pad, and forwards are as few."""
    model = transformers_model(kind)
    asked = [[9 + at, 40 + at] for at in range(16)]
    options = {"vocab": VOCAB, "max_tokens": 32, "close": False, **SAMPLED}
    guess = guessing(transformers_model(kind))
    alone = [gl.generate(model, prompt, **options) for prompt in asked]
    watched, found = Watched(model), {}
    for name, schedule in (("batch", None), ("lengths", Lengths(pool=4))):
        draft = gl.Draft(guess, length=3, schedule=schedule)
        watched.rows, watched.pads, watched.ids = [], [], []
        outs = gl.generate(model, asked, batch_size=4, draft=draft, **options)
        assert [out.tokens for out in outs] == [out.tokens for out in alone]
        assert max(watched.rows) <= 4
        found[name] = sum(watched.pads), len(watched.rows), sum(watched.ids), sum(out.stats.padded_ids for out in outs)
    batch, lengths = found["batch"], found["lengths"]
    assert lengths[0] < 0.35 * batch[0]  # pads
    assert lengths[1] <= batch[1]  # forwards
    assert lengths[2] <= batch[2]  # ids and pads beside them
    assert lengths[3] < 0.35 * batch[3]  # stats


class WaitingRow:
    """What a schedule sees of a row that has read all but its last id."""

    has_begun = True

    def __init__(self, number, length):
        self.number, self.ids, self.length_read, self.unread = number, [7] * length, length - 1, Unread([7], 0)


def waiting_rows(lengths):
    return [WaitingRow(number, length) for number, length in enumerate(lengths)]


def chosen(schedule, rows, size, is_ragged=True):
    return [row.number for row in schedule.choose(rows, size, is_ragged)]


def test_the_rows_with_the_fewest_pads_are_chosen():
    """EXSPEC: by all sets of so many rows; where pads cannot be, rows of one length, as many as there are."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        lengths, size = rng.integers(3, 20, int(rng.integers(1, 9))).tolist(), int(rng.integers(1, 5))
        rows = waiting_rows(lengths)
        found = [lengths[at] for at in chosen(Lengths(), rows, size)]
        sets = itertools.combinations(lengths, min(size, len(lengths)))
        assert max(found) * len(found) - sum(found) == min(max(some) * len(some) - sum(some) for some in sets)
        equal = [lengths[at] for at in chosen(Lengths(), rows, size, is_ragged=False)]
        assert len(set(equal)) == 1
        assert len(equal) == min(size, max(lengths.count(length) for length in lengths))


@pytest.mark.parametrize("is_ragged", [True, False])
def test_a_row_that_waits_long_is_read(is_ragged):
    """One text is short and none comes by: without patience it would be read after all others."""
    schedule, rows = Lengths(patience=5), waiting_rows([4, 9, 9, 9])
    turns = [chosen(schedule, rows, 2, is_ragged) for _ in range(12)]
    assert [at for at, turn in enumerate(turns) if 0 in turn] == [5, 11]


def test_what_cannot_join_is_refused_or_waits():
    """Readers that belong to their batch: equal lengths are refused by name, and other prompts are batch after batch."""
    with pytest.raises(ValueError, match="pool=1; it takes an integer of 2 or more"):
        Lengths(1)
    model = transformers_model("Llama")
    options = {"vocab": VOCAB, "max_tokens": 12, "batch_size": 2}
    asked = prompts(5, 2)
    shared = gl.Draft("exit", layers=1, eta=0.1)
    assert [out.tokens for out in gl.generate(model, asked, draft=shared, **options)] == [
        out.tokens for out in gl.generate(model, asked, **options)
    ]
    with pytest.raises(ValueError, match="needs to read the target alone"):
        gl.generate(model, asked, draft=gl.Draft("exit", layers=1, eta=0.1, schedule=Lengths()), **options)
