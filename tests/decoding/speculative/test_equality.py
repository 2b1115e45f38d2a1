"""A draft changes nothing: the same tokens, log-probabilities and endings as without, whatever drafts, and on whatever model."""

import copy
import random

import pytest

import grammarlm as gl
from grammarlm.published.drafters.strided import Strided
from grammarlm.published.schedules.memory import Memory
from grammarlm.published.schedules.parallel import Parallel
from grammarlm.published.schedules.rooms import Rooms
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

SAMPLINGS = {
    "greedy": {},
    "drawn": {"temperature": 1.0, "seed": 11},
    "filtered": {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "seed": 12},
    "penalized": {"temperature": 1.5, "min_p": 0.02, "repetition_penalty": 1.3, "seed": 13},
}
EXTRAS = {
    "plain": {},
    "n": {"n": 3},
    "where": {"where": lambda text: "7" not in text},
    "closing": {"max_tokens": 14},
    "cut": {"close": False, "max_tokens": 9},
    "small batches": {"batch_size": 2},
}
SCHEDULES = {
    "none": lambda: None,
    "memory": lambda: Memory(0.2),
    "rooms": Rooms,
    "parallel": Parallel,
    "branches": lambda: Parallel(ahead=2, branches=3),
}
KINDS = ("Llama", "Qwen2", "GPT2", "Mistral", "Gemma3Text", "Mamba", "T5", "static", "periodic", "all ids")
NAMES = tuple(gl.Draft.DRAFTERS)
RUNS = ("copy", "suffix", "skeleton", "pool", "auto")  # have nothing to do while the target reads
MODELS = ("same", "agreeing", "stranger", "list", "strided", "pool and jacobi")


class Bench:
    """A model, and what drafts for it."""

    def __init__(self, kind: str):
        self.options = {"cache": "static"} if kind == "static" else {}
        if kind in ("periodic", "all ids"):
            self.model = HashModel(5, 3 if kind == "periodic" else None)
        else:
            self.model = transformers_model("Llama" if kind == "static" else kind)
        self.is_bare = isinstance(self.model, HashModel)
        self.goes_on = self.is_bare or not self.model.config.is_encoder_decoder
        self.stranger = HashModel(6, 2, WIDTH)

    def drafter(self, name: str):
        if name == "same" and self.goes_on:
            return copy.copy(self.model)
        if name == "agreeing" and self.is_bare:
            return Agreeing(self.model, self.stranger)
        if name == "strided":
            return Strided(1, 3)
        if name == "pool and jacobi":
            return ["pool", "jacobi"]
        if name == "list":
            return ["copy", self.stranger]
        return self.stranger if name in MODELS else name


def covering(seed: int, count: int):
    """Combinations in which every value of every factor occurs about as often, in ever new company."""
    rng = random.Random(seed)
    factors = {
        "drafter": (*NAMES, *MODELS, "auto"),
        "tree": gl.Draft.TREES,
        "length": (None, 1, 3, 9),
        "batch": (1, 3, 5),
        "grammar": tuple(GRAMMARS),
        "sampling": tuple(SAMPLINGS),
        "extra": tuple(EXTRAS),
        "schedule": tuple(SCHEDULES),
    }
    decks = {name: [] for name in factors}
    for _ in range(count):
        chosen = {}
        for name, values in factors.items():
            decks[name] = decks[name] or rng.sample(values, len(values))
            chosen[name] = decks[name].pop()
        yield chosen


def check(bench: Bench, chosen: dict, seed: int) -> int:
    """Raises where a draft changes an answer; how many drafted tokens were accepted."""
    asked = prompts(chosen["batch"], seed)
    if chosen["grammar"] == "items" and chosen["extra"] == "where":
        return 0
    arguments = {
        "vocab": VOCAB,
        "grammar": GRAMMARS[chosen["grammar"]],
        "max_tokens": 24,
        **bench.options,
        **SAMPLINGS[chosen["sampling"]],
        **EXTRAS[chosen["extra"]],
    }
    if chosen["grammar"] in ("schema", "sql"):
        arguments["max_tokens"] = max(30, arguments["max_tokens"])
    acceptance = "exact" if chosen["sampling"] != "greedy" else random.Random(seed).choice(lossless())
    drafter, schedule = bench.drafter(chosen["drafter"]), SCHEDULES[chosen["schedule"]]()
    is_run = chosen["drafter"] in RUNS or isinstance(drafter, list)
    draft = gl.Draft(
        drafter,
        tree=chosen["tree"],
        length=chosen["length"],
        acceptance=acceptance,
        schedule=None if isinstance(schedule, Parallel) and (is_run or chosen["tree"] != "chain") else schedule,
    )
    if chosen["drafter"] in ("skip", "exit") and (bench.is_bare or not bench.goes_on):
        with pytest.raises(ValueError, match="needs a transformers model with a list of layers"):
            gl.generate(bench.model, asked, draft=draft, **arguments)
        return 0
    drafted = gl.generate(bench.model, asked, draft=draft, **arguments)
    plain = gl.generate(bench.model, asked, **arguments)
    for one, other in zip(plain, drafted, strict=True):
        assert one.tokens == other.tokens, chosen
        assert (one.text, one.value, one.finish_reason) == (other.text, other.value, other.finish_reason), chosen
        assert one.logprobs == pytest.approx(other.logprobs, rel=0, abs=LOG_P), chosen
        stats = other.stats
        assert 0 <= stats.accepted_tokens <= min(stats.draft_tokens, stats.tokens), chosen
        assert stats.tokens <= stats.forwards + stats.accepted_tokens + stats.forced_tokens, chosen
        assert stats.forwards <= stats.tokens + 2, chosen
    return sum(output.stats.accepted_tokens for output in drafted)


def lossless() -> list[str]:
    return [name for name, is_lossless in gl.Draft.ACCEPTANCE.items() if is_lossless]


@pytest.mark.parametrize("count", [6, pytest.param(130, marks=pytest.mark.proof)])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_without_a_draft(kind, count):
    bench = Bench(kind)
    torch.manual_seed(0)
    accepted = sum(check(bench, chosen, seed) for seed, chosen in enumerate(covering(len(kind), count)))
    assert accepted > count  # drafts were at work


def test_streams_show_the_same_tokens():
    model = HashModel(5, 3)
    arguments = {"vocab": VOCAB, "max_tokens": 30, "grammar": GRAMMARS["regex"], "temperature": 1.0, "seed": 3}
    plain = gl.generate(model, [5, 6, 7], **arguments)
    *deltas, end = gl.stream(model, [5, 6, 7], draft=["copy", copy.copy(model)], **arguments)
    assert end.result.tokens == plain.tokens
    assert "".join(event.text for event in deltas if event.kind == "text") == plain.text
    assert end.result.stats.accepted_tokens


def test_rows_of_several_grammars_come_and_go():
    model = HashModel(5, 3)
    grammars = [GRAMMARS[name] for name in ("regex", "none", "schema", "sql") * 3]
    asked = prompts(12, 4)
    options = {"vocab": VOCAB, "max_tokens": 40}
    alone = [gl.generate(model, p, grammar=g, **options) for p, g in zip(asked, grammars, strict=True)]
    for draft in ("copy", "suffix", "auto", copy.copy(model)):
        together = gl.generate(model, asked, grammar=grammars, batch_size=5, draft=draft, **options)
        assert [out.tokens for out in together] == [out.tokens for out in alone]


def test_best_of_takes_drafts():
    model = HashModel(5, 3)
    options = {"vocab": VOCAB, "regex": "[a-d]{12}", "method": "best_of", "candidates": 4, "seed": 1}
    assert gl.generate(model, [7], draft="copy", **options).tokens == gl.generate(model, [7], **options).tokens


def test_stop_ids_are_never_drafted():
    model = HashModel(5, 3)
    draft = gl.Draft(copy.copy(model), length=30)
    out = gl.generate(model, [9], vocab=VOCAB, regex="[a-d]{3}", draft=draft)
    assert STOP not in out.tokens
    assert out.stats.accepted_tokens <= 3
