"""Rows that join and leave a running batch under drafts, and batches of equal lengths: answers are those of each prompt alone."""

import itertools

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.speculative.schedule.lengths import Lengths
from grammarlm.decoding.speculative.schedule.memory import Memory
from grammarlm.decoding.speculative.schedule.parallel import Parallel
from grammarlm.decoding.speculative.schedule.rooms import Rooms
from grammarlm.models.planted import Planted, noise
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

torch = pytest.importorskip("torch")

KINDS = ["hash", "Llama", "Mistral", "static", "Mamba", "T5"]
NAMES = ["regex", "none", "schema", "sql", "items"]
SAMPLED = {"temperature": 1.0, "seed": 5}


class Watched:
    """A transformers model; of each of its forwards the rows, and how many pads they hold: beside what is read, and in the cache."""

    def __init__(self, model):
        self.model, self.rows, self.pads, self.ids = model, [], [], []
        self.forward = model.forward
        model.forward = self.read

    def read(self, input_ids, **options):
        mask, cache = options.get("attention_mask"), options.get("past_key_values")
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
    ("kind", "which", "count"),
    [
        *(("hash", number, 11) for number in range(3)),
        *((kind, at % 3, 6) for at, kind in enumerate(KINDS)),
        *(pytest.param(kind, number, 60, marks=pytest.mark.proof) for kind in KINDS for number in range(3)),
    ],
)
@pytest.mark.parametrize("schedule", [Rooms, Lengths])
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
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.parametrize("kind", ["hash", "Llama"])
def test_rows_come_and_go_without_drafts(kind):
    """With budgets, a predicate, a penalty and n: as each prompt alone."""
    model = model_of(kind)
    asked, grammars = prompts(9, 3), [GRAMMARS[NAMES[at % 5]] for at in range(9)]
    options = {"vocab": VOCAB, "max_tokens": 24, "n": 2, "repetition_penalty": 1.2, **SAMPLED}
    options["where"] = lambda text: "7" not in text
    alone = [gl.generate(model, p, grammar=g, **options) for p, g in zip(asked, grammars, strict=True)]
    together = gl.generate(model, asked, grammar=grammars, batch_size=5, **options)
    assert [out.tokens for out in together] == [out.tokens for pair in alone for out in pair]


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
        in_batches = sum(
            max(out.stats.forwards for out in outs[first : first + 4]) for first in range(0, len(outs), 4)
        )
        assert in_batches >= 4 * 61
        assert len(calls) < 0.6 * in_batches


def test_prompts_are_let_in_together():
    """A forward for the prompt of each answer that ends would cost more forwards than empty places do."""
    model, asked, written = texts_of_lengths([20 + at % 3 for at in range(64)])
    calls = []

    def watched(ids):
        calls.append(len(ids))
        return model(ids)

    outs = gl.generate(watched, asked, vocab=VOCAB, max_tokens=70, batch_size=16)
    assert [out.tokens for out in outs] == written
    assert len(calls) <= 1.15 * 4 * 23


# ------------------------------------------------------------------ equal lengths


class Guesses:
    """A draft model that is right about the next token of a text with a chance of its own."""

    def __init__(self, model, seed):
        self.model, self.seed = model, seed

    def __call__(self, ids):
        with torch.no_grad():
            logits = self.model(ids)
        for row, text in enumerate(ids.tolist()):
            for at in range(len(text)):
                if hash((self.seed, *text[: at + 1])) % 100 < 10 + 80 * (text[0] % 2):
                    logits[row, at] = torch.roll(logits[row, at], 1)
        return logits


@pytest.mark.parametrize("kind", ["Llama", "Qwen2"])
def test_rows_of_equal_length_are_read_together(kind):
    """EXSPEC: rows accept different numbers of tokens; out of a pool batches have hardly a pad, and forwards are as few."""
    model = transformers_model(kind)
    asked = [[9 + at, 40 + at] for at in range(24)]
    options = {"vocab": VOCAB, "max_tokens": 48, "close": False, **SAMPLED}
    other = transformers_model(kind)
    alone = [gl.generate(model, prompt, **options) for prompt in asked]
    watched, found = Watched(model), {}
    for name, schedule in (("batch", None), ("lengths", Lengths(pool=6))):
        draft = gl.Draft(Guesses(lambda ids: other(ids).logits, 3), length=3, schedule=schedule)
        watched.rows, watched.pads, watched.ids = [], [], []
        outs = gl.generate(model, asked, batch_size=4, draft=draft, **options)
        assert [out.tokens for out in outs] == [out.tokens for out in alone]
        assert max(watched.rows) <= 4
        found[name] = sum(watched.pads), len(watched.rows), sum(watched.ids), sum(out.stats.padded_ids for out in outs)
    assert found == {}
    assert found["lengths"][0] < 0.2 * found["batch"][0]
    assert found["lengths"][1] <= 1.1 * found["batch"][1]
