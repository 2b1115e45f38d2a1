"""where= refuses everything: the same in every method. No answer violates the predicate, whatever else happens."""

import itertools
import math

import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.predicate import readable
from tests.decoding.left_to_right import LEFT_TO_RIGHT, needed

from .random_models import random_model

TOKENS = [b"a", b"b", b"ab", b"ba", b"c", b"\xc3", b"\xa9", b""]
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[7])
TABLE = torch.randn(8, 8, generator=torch.Generator().manual_seed(1))


def model(ids):
    return TABLE[ids]


# what the answer is held to, and its texts as far as they are asked about
HELD = {
    "regex": ({"regex": "[abc]{1,3}"}, ["".join(p) for n in (1, 2, 3) for p in itertools.product("abc", repeat=n)]),
    "choices": ({"choices": ["ab", "abc", "cab"]}, ["ab", "abc", "cab"]),
    "items": ({"items": gl.Tokens([[0, 1], [2, 4]])}, ["ab", "abc"]),
    "one text": ({"regex": "cc"}, ["cc"]),
    "empty": ({"regex": "a?"}, ["", "a"]),
    "free": ({"max_tokens": 3}, None),
}
PREDICATES = {
    "refuses all": lambda text: False,
    "refuses after two": lambda text: len(text) < 3,
    "refuses the shortest": lambda text: text != "ab",
    "refuses whole answers": lambda text: text not in ("ab", "abc", "cab", "cc", "a", ""),
    "a list, of no answers": lambda text: [],
    "accepts all": lambda text: True,
}
SETTINGS = {
    "greedy": {},
    "sampled": {"temperature": 1.0, "seed": 3},
    "cut": {"close": False, "temperature": 0.7, "seed": 5},
    "forced tokens one by one": {"forced": "off"},
}


def asked_for(method, settings):
    return {name: value for name, value in settings.items() if method != "beam" or name not in ("temperature", "seed")}


def prefixes(text):
    return [text[:n] for n in range(1, len(text) + 1)]


def check(out, where, texts):
    """What holds of any answer under a predicate; whether it is a value."""
    whole = readable(b"".join(VOCAB.token_bytes(token) for token in out.tokens))
    if whole:
        assert where(whole), out  # whatever is handed out has been accepted
    if out.finish_reason == "unsatisfied":
        assert out.value is None
        assert f"after {len(out.tokens)} tokens where= refuses all" in out.error
        assert repr(out.text) in out.error
        return False
    if out.finish_reason == "length":
        assert out.value is None or texts is None
        return False
    assert out.finish_reason in ("stop", "closed")
    assert where(out.text), out
    assert texts is None or out.text in texts
    return True


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("method", LEFT_TO_RIGHT)
def test_no_answer_violates_the_predicate(method, predicate, settings):
    where = PREDICATES[predicate]
    for held, texts in HELD.values():
        options = {"vocab": VOCAB, "max_tokens": 4, **held, **asked_for(method, SETTINGS[settings]), **needed(method)}
        out = gl.generate(model, [4], where=where, method=method, **options)
        is_value = check(out, where, texts)
        if predicate == "accepts all":
            assert is_value or out.finish_reason == "length"
        if texts is not None and not any(where(text) and all(map(where, prefixes(text))) for text in texts):
            assert out.finish_reason == "unsatisfied"
        if predicate == "refuses all":
            assert out.finish_reason == "unsatisfied"
            assert out.text in ("", "\N{REPLACEMENT CHARACTER}")  # it is asked about whole characters
            if method == "awrs" and "temperature" in options:
                assert out.log_weight == -math.inf


@pytest.mark.parametrize("method", LEFT_TO_RIGHT)
def test_of_several_prompts_only_those_that_are_refused(method):
    """Each prompt has a predicate of its own; n answers to each."""
    wheres = [None, lambda text: len(text) < 2, lambda text: "c" not in text]
    options = {"vocab": VOCAB, "regex": "[abc]{3}", "method": method, "n": 2, **needed(method)}
    options |= {} if method == "beam" else {"temperature": 1.0, "seed": 1}
    outs = gl.generate(model, [[4], [0], [1]], where=wheres, **options)
    alone = [gl.generate(model, p, where=w, **options) for p, w in zip([[4], [0], [1]], wheres, strict=True)]
    for out, expected in zip(outs, itertools.chain(*alone), strict=True):
        assert (out.text, out.finish_reason, out.error) == (expected.text, expected.finish_reason, expected.error)
    assert [out.finish_reason for out in outs[2:4]] == ["unsatisfied"] * 2
    assert all(out.value == out.text and "c" not in out.text for out in outs[4:])


def test_best_of_prefers_those_that_hold():
    """Some candidates come to nothing; the answer is one that does not."""
    options = {"vocab": VOCAB, "regex": "[abc]{2}", "where": lambda text: text in ("a", "aa", "b", "c"), "seed": 2}
    reasons = {gl.generate(model, [4], temperature=1.0, n=1, **{**options, "seed": s}).finish_reason for s in range(30)}
    assert {"unsatisfied"} < reasons
    best = gl.generate(model, [4], temperature=1.0, method="best_of", candidates=40, **options)
    assert (best.text, best.value) == ("aa", "aa")


def test_the_end_of_the_budget():
    """Where the budget leaves one way to end, and the predicate refuses that: nothing is closed over its head."""
    out = gl.generate(
        model, [4], vocab=VOCAB, regex="a*c", where=lambda text: "c" not in text, max_tokens=4, forced="score"
    )
    assert (out.finish_reason, out.value) == ("unsatisfied", None)
    assert set(out.text) == {"a"}


def test_healed_prompts(tokenizer):
    options = {"tokenizer": tokenizer, "regex": "[a-z ]{4,8}", "heal": True}
    model = random_model("Llama", len(tokenizer))
    fine = gl.generate(model, "the ca", where=lambda text: len(text) < 9, **options)
    assert fine.value == fine.text
    gone = gl.generate(model, "the ca", where=lambda text: len(text) < 3, **options)
    assert (gone.finish_reason, gone.value, len(gone.text) < 3) == ("unsatisfied", None, True)
    assert gl.generate(model, "the ca", where=lambda text: False, **options).finish_reason == "unsatisfied"


@pytest.mark.parametrize("predicate", ["refuses all", "refuses after two"])
def test_streams(predicate):
    where = PREDICATES[predicate]
    *told, end = gl.stream(model, [4], vocab=VOCAB, regex="[abc]{3}", where=where)
    assert end.result.finish_reason == "unsatisfied"
    assert end.result.error == gl.generate(model, [4], vocab=VOCAB, regex="[abc]{3}", where=where).error
    assert "".join(event.text for event in told) == end.result.text


def test_a_predicate_of_many():
    """where.many is asked by the methods that follow several texts."""

    class Short:
        def __call__(self, text):
            return len(text) < 2

        def many(self, texts):
            return [self(text) for text in texts]

    for method in LEFT_TO_RIGHT:
        out = gl.generate(model, [4], vocab=VOCAB, regex="[abc]{3}", where=Short(), method=method, **needed(method))
        assert (out.finish_reason, out.value) == ("unsatisfied", None)


@pytest.mark.parametrize("method", LEFT_TO_RIGHT)
def test_a_text_that_is_cut_within_its_only_character_is_asked_about(method: str) -> None:
    """The model writes the first byte of a character: nothing of the text was readable before."""

    def begins(ids):
        return torch.where(torch.arange(8) == 5, 0.0, -20.0).expand(*ids.shape, 8)

    out = gl.generate(begins, [0], vocab=VOCAB, where=lambda text: False, method=method, max_tokens=1, **needed(method))
    assert (out.finish_reason, out.value) == ("unsatisfied", None)
