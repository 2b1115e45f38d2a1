"""One answer of a batch fails: the others are those of a run without it, and it says of what."""

import itertools
import math

import pytest
import torch

import grammarlm as gl
from grammarlm.masks.matcher import Matcher
from tests.decoding.left_to_right import LEFT_TO_RIGHT, needed
from tests.texts import BYTES

VOCAB = gl.Vocabulary([b"a", b"b", b"c", b"d", b""], stop_ids=[4])
TABLE = torch.randn(5, 5, generator=torch.Generator().manual_seed(2))
FINE, BAD, PLACE = [0], [1], 2  # the prompts, and after how many tokens something goes wrong


def with_logits(value, ids_of_value=None):
    """A model whose logits go wrong in texts that begin with BAD, after PLACE tokens."""

    def model(ids):
        logits = TABLE[ids].clone()
        for row, text in enumerate(ids.tolist()):
            if text[0] == BAD[0] and len(text) > PLACE:
                logits[row, PLACE:, ids_of_value] = value
        return logits

    return model


def fine_model(ids):
    return TABLE[ids]


def raises(kind):
    def where(text):
        if len(text) > PLACE:
            raise kind("asked about too much")
        return True

    return where


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class ManyRaises:
    def __call__(self, text):
        return self.many([text])[0]

    def many(self, texts):
        return [raises(LookupError)(text) for text in texts]


# name -> (model, the predicate of BAD's answers, what the error says)
CASES = {
    "NaN": (with_logits(math.nan, slice(1, 3)), None, "no distribution: nan at id 1 (and 1 more)"),
    "+inf": (with_logits(math.inf, slice(2, 3)), None, "no distribution: inf at id 2"),
    "-inf": (with_logits(-math.inf, slice(None)), None, "no distribution: -inf everywhere"),
    "-inf where it is allowed": (
        with_logits(-math.inf, slice(0, 3)),
        None,
        "that the grammar allows has the logit -inf",
    ),
    "a predicate": (fine_model, raises(KeyError), "where= raised KeyError: 'asked about too much'"),
    "an assertion": (fine_model, raises(AssertionError), "where= raised AssertionError: asked about too much"),
    "stop of an iteration": (fine_model, raises(StopIteration), "where= raised StopIteration"),
    "no message": (fine_model, raises(Unprintable), "where= raised Unprintable"),
    "neither true nor false": (
        fine_model,
        lambda text: torch.zeros(2) if len(text) > PLACE else 1,
        "where= raised RuntimeE",
    ),
    "many": (fine_model, ManyRaises(), "raised LookupError: asked about too much"),
}


def settings(method, seed=3):
    return {} if method == "beam" else {"temperature": 1.0, "seed": seed}


@pytest.mark.parametrize(
    ("n", "method", "case"),
    [
        pytest.param(n, method, case, marks=() if (at + number + n) % 2 else pytest.mark.proof)
        for n in (1, 2)
        for at, method in enumerate(LEFT_TO_RIGHT)
        for number, case in enumerate(CASES)
    ],
)
def test_the_others_go_on(method, case, n):
    model, where, message = CASES[case]
    options = {"vocab": VOCAB, "regex": "[abc]{4}", "method": method, "n": n, **settings(method), **needed(method)}
    prompts, wheres = [FINE, BAD, FINE, [2]], [None, where, lambda text: "b" not in text, None]
    outs = gl.generate(model, prompts, where=wheres, **options)
    others = gl.generate(model, [FINE, FINE, [2]], where=[wheres[0], *wheres[2:]], **options)
    assert [out.tokens for out in outs[:n] + outs[2 * n :]] == [out.tokens for out in others]
    assert [out.logprobs for out in outs[:n] + outs[2 * n :]] == [out.logprobs for out in others]
    assert all(out.finish_reason in ("stop", "closed") and out.error is None for out in others)
    for out in outs[n : 2 * n]:
        assert (out.finish_reason, out.value) == ("error", None)
        assert message in out.error
        assert len(out.error) <= 500
        assert len(out.tokens) == len(out.logprobs) == len(out.model_logprobs) == len(out.stats.mass_removed)
        assert out.text == b"".join(map(VOCAB.token_bytes, out.tokens)).decode()


@pytest.mark.parametrize("forced", ["score", "off"])
@pytest.mark.parametrize("case", CASES)
def test_among_forced_tokens(case, forced):
    """The text up to the failure is the same, whether forced tokens share a forward or not."""
    model, where, message = CASES[case]
    outs = gl.generate(model, [FINE, BAD], vocab=VOCAB, regex="[abc][abc]cabc[abc]", where=[None, where], forced=forced)
    assert [out.finish_reason for out in outs] == ["stop", "error"]
    assert message in outs[1].error
    assert len(outs[1].text) == PLACE
    assert outs[0].tokens == gl.generate(model, FINE, vocab=VOCAB, regex="[abc][abc]cabc[abc]").tokens


def test_one_of_n():
    """The prompt is shared, what is drawn is not: some answers meet what the predicate cannot take, others don't."""

    def where(text):
        return 1 / (text.count("b") - 2) != 0

    options = {"vocab": VOCAB, "regex": "[abc]{4}", "temperature": 1.0, "seed": 5, "n": 20}
    outs = gl.generate(fine_model, FINE, where=where, **options)
    plain = gl.generate(fine_model, FINE, **options)
    for out, other in zip(outs, plain, strict=True):
        if other.text.count("b") < 2:
            assert (out.tokens, out.logprobs, out.error) == (other.tokens, other.logprobs, None)
        else:
            assert "ZeroDivisionError" in out.error
            assert other.text.startswith(out.text)
            assert out.text.count("b") == 1
    assert {out.finish_reason for out in outs} == {"error", "stop"}
    weighted = gl.generate(fine_model, FINE, where=where, method="awrs", **options)
    assert {out.finish_reason for out in weighted} == {"error", "stop"}


def test_a_limit_that_one_matcher_reaches(monkeypatch):
    """A grammar that becomes too large while it is read; the other's rows are made all the same."""
    row = Matcher._new_row

    def limited(self):
        if self._constraint.grammar == gl.Regex("[abc]{4}") and len(self._head[0]) > 5:
            raise gl.LimitExceeded("limits.max_bytes is reached")
        return row(self)

    monkeypatch.setattr(Matcher, "_new_row", limited)
    monkeypatch.setattr(Matcher, "_known_row", lambda self: None)
    monkeypatch.setattr(Matcher, "fill_mask", filled)
    for method in LEFT_TO_RIGHT:
        outs = gl.generate(
            fine_model, [FINE, FINE, FINE], vocab=VOCAB, grammar=[gl.Regex("[ab]{4}"), gl.Regex("[abc]{4}"), None],
            max_tokens=4, method=method, close=False, **settings(method), **needed(method),
        )  # fmt: skip
        assert outs[1].finish_reason == "error", method
        assert outs[1].error == "LimitExceeded: limits.max_bytes is reached"
        assert outs[0].finish_reason == "stop"
        assert outs[2].finish_reason in ("stop", "length")


def filled(self, mask, row=0):
    mask[row] = self._new_row()
    return True


def test_ctrl_c_is_no_failure_of_a_row():
    for method in LEFT_TO_RIGHT:
        with pytest.raises(KeyboardInterrupt):
            gl.generate(
                fine_model,
                [FINE, FINE],
                vocab=VOCAB,
                regex="[abc]{4}",
                where=raises(KeyboardInterrupt),
                method=method,
                **needed(method),
            )


def test_what_is_wrong_with_the_model_is_raised():
    def broken(ids):
        raise RuntimeError("out of memory")

    for method in LEFT_TO_RIGHT:
        with pytest.raises(RuntimeError, match="out of memory"):
            gl.generate(broken, [FINE, FINE], vocab=VOCAB, regex="[abc]{4}", method=method, **needed(method))


def test_streams():
    model, where, message = CASES["a predicate"]
    options = {"vocab": VOCAB, "regex": "[abc]{4}"}
    *told, end = gl.stream(model, [FINE, BAD, FINE], where=[None, where, None], **options)
    assert [out.finish_reason for out in end.result] == ["stop", "error", "stop"]
    assert message in end.result[1].error
    for row, out in enumerate(end.result):
        assert "".join(event.text for event in told if event.row == row) == out.text
    *told, end = gl.stream(nan_after_a_digit, [50], vocab=BYTES, schema={"type": "integer", "minimum": 10})
    assert end.result.finish_reason == "error"
    assert [event.kind for event in told] == ["text"]  # no value: the number is not complete


def nan_after_a_digit(ids):
    logits = torch.zeros(*ids.shape, 257)
    logits[:, 1:] = math.nan
    logits[..., 50] = 1.0
    return logits


def test_a_reader_that_raises_anything():
    """The answer is complete, its value cannot be told: the others have theirs."""
    from grammarlm.decoding.answers.answer_format import AnswerFormat

    for kind in (ValueError, KeyError, RuntimeError, RecursionError, Unprintable, AttributeError):

        def read(text, kind=kind):
            raise kind("no value")

        value, error = AnswerFormat(gl.Regex("a"), read).value("a", [0])
        assert value is None
        assert error.startswith(kind.__name__)
        value, error = AnswerFormat(gl.Regex("a"), find=read).value("a", [0])
        assert value is None
        assert error.startswith(kind.__name__)


def test_scores_that_cannot_be_told():
    def score(out):
        return {"a": 1.0, "b": math.nan}[out.text]

    options = {"vocab": VOCAB, "method": "best_of", "candidates": 60, "temperature": 1.0, "seed": 1, "score": score}
    outs = gl.generate(fine_model, [FINE, FINE, FINE], choices=[["a", "b", "c"], ["b"], ["c"]], **options)
    assert [out.finish_reason for out in outs] == ["stop", "error", "error"]
    assert (outs[0].value, outs[0].score) == ("a", 1.0)
    assert outs[1].error.startswith("score= raised ValueError: it gave NaN")
    assert outs[2].error == "score= raised KeyError: 'c'"


@pytest.mark.parametrize("answer", [lambda texts: 1 / 0, lambda texts: [], lambda texts: [-math.inf] * len(texts)])
def test_critics_that_cannot_be_asked(answer):
    def critic(texts):
        return answer(texts) if any("c" in text for text in texts) else [0.0] * len(texts)

    options = {"vocab": VOCAB, "method": "smc", "particles": 4, "critic": critic, "seed": 1}
    outs = gl.generate(fine_model, [FINE, FINE, FINE], regex=["[ab]{3}", "c{3}", "[ab]{3}"], **options)
    assert [out.finish_reason for out in outs] == ["stop", "error", "stop"]
    assert "critic" in outs[1].error


def test_failures_at_every_place():
    """NaN in each row of a batch in turn, after any number of tokens: the other rows never notice."""
    prompts = [[0], [1], [2], [3]]
    options = {"vocab": VOCAB, "regex": "[abcd]{1,5}", "temperature": 1.0, "seed": 8, "max_tokens": 6}
    expected = gl.generate(fine_model, prompts, **options)
    for bad, place in itertools.product(range(4), range(1, 6)):

        def model(ids, bad=bad, place=place):
            logits = TABLE[ids].clone()
            for row, text in enumerate(ids.tolist()):
                if text[0] == bad:
                    logits[row, place - 1 :] = math.nan
            return logits

        outs = gl.generate(model, prompts, **options)
        for row, (out, other) in enumerate(zip(outs, expected, strict=True)):
            if row != bad:
                assert (out.tokens, out.logprobs, out.finish_reason) == (
                    other.tokens,
                    other.logprobs,
                    other.finish_reason,
                )
            elif out.finish_reason == "error":
                assert out.tokens == other.tokens[: place - 1]
            else:
                assert out.tokens == other.tokens
                assert len(out.tokens) < place
