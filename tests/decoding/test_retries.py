"""check= and retries=: an answer that fails is asked for again by itself, and never raises."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from tests.decoding.planted import noise
from tests.oracles.chat_templates import needs_jinja2
from tests.texts import BYTES

torch = pytest.importorskip("torch")

MODEL = noise(BYTES.size)
PROMPTS = [[65], [66], [67], [68], [69]]
DIGITS = gl.Regex("[0-9]{2}")


def ask(prompts: Any, **options: Any) -> Any:
    return gl.generate(MODEL, prompts, vocab=BYTES, **{"grammar": DIGITS, "temperature": 1.0, "seed": 7, **options})


def is_even(text: str) -> bool:
    return int(text) % 2 == 0


def test_each_answer_is_tried_until_it_holds() -> None:
    plain = ask(PROMPTS)
    outs = ask(PROMPTS, check=is_even, retries=20)
    assert all(is_even(out.value) for out in outs)
    assert {out.tries for out in outs} > {1}
    for before, out in zip(plain, outs, strict=True):
        assert (out.tries == 1) == is_even(before.value)
        if out.tries == 1:  # others of its batch were tried again
            assert out == before or (out.tokens, out.logprobs) == (before.tokens, before.logprobs)


def test_what_the_others_do_makes_no_difference() -> None:
    outs = ask(PROMPTS, check=is_even, retries=20)
    for prompt, out in zip(PROMPTS, outs, strict=True):
        alone = ask([prompt], check=is_even, retries=20)[0]
        assert (alone.tokens, alone.tries, alone.logprobs) == (
            out.tokens,
            out.tries,
            pytest.approx(out.logprobs, abs=1e-5),
        )
    several = ask([65], check=is_even, retries=20, n=4)
    assert len({out.text for out in several}) > 1
    assert all(is_even(out.value) for out in several)


def test_the_last_failure_has_no_value() -> None:
    asked = []

    def refuse(value: Any) -> None:
        asked.append(value)
        raise RuntimeError("never")

    out = ask([65], check=refuse, retries=2)
    assert (out.finish_reason, out.value, out.error, out.tries) == ("unsatisfied", None, "RuntimeError: never", 3)
    assert len(set(asked)) == len(asked) == 3
    assert out.text == asked[-1]
    out = ask([65], check=lambda value: False)
    assert (out.finish_reason, out.error, out.tries) == ("unsatisfied", "check= refuses the value", 1)
    assert ask([65], check=lambda value: None, retries=2).tries == 1


def test_greedy_answers_are_tried_again_with_a_temperature() -> None:
    first = ask([65], temperature=0.0)
    out = ask([65], temperature=0.0, check=lambda text: text != first.text, retries=9)
    assert out.text != first.text
    assert out.tries > 1
    assert out.text == ask([65], temperature=0.0, check=lambda text: text != first.text, retries=9).text


def test_validators_of_types_and_each_prompt_its_own_grammar() -> None:
    @dataclass
    class Small:
        n: int

        def __post_init__(self) -> None:
            if self.n > 4:
                raise ValueError("too large")

    outs = ask(PROMPTS[:3], grammar=None, schema=[Small, None, Small], retries=40, max_tokens=12, close=True)
    assert outs[1].tries == 1
    assert outs[1].finish_reason == "length"
    assert all(isinstance(outs[at].value, Small) and outs[at].value.n <= 4 for at in (0, 2))


def test_what_a_validator_says_has_no_link() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Large(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def large(cls, value: int) -> int:
            raise ValueError("too small")

    error = ask([65], grammar=None, schema=Large, retries=1, max_tokens=12, close=True).error
    assert "too small" in error
    assert "http" not in error


def test_failing_models_are_not_asked_again() -> None:
    calls = 0

    def broken(ids: Any) -> Any:
        nonlocal calls
        calls += 1
        return torch.full((*ids.shape, BYTES.size), torch.nan)

    out = gl.generate(broken, [65], vocab=BYTES, grammar=DIGITS, retries=5)
    assert out.finish_reason == "error"
    assert calls == 1
    assert out.tries == 1


@needs_jinja2
def test_a_call_has_no_value_to_check() -> None:
    """A check of the answer that may come instead got None, and refused each call."""
    model, tokenizer = gl.load_tiny()

    def rank(city: str) -> int:
        """Of a city."""
        return len(city)

    asked = {"tokenizer": tokenizer, "tools": [rank], "schema": int, "check": lambda value: value > 10**9, "retries": 1}
    talk = [{"role": "user", "content": "Count 15 minutes."}]
    called = gl.generate(model, talk, tool_choice="required", **asked)
    assert called.calls
    assert (called.finish_reason, called.tries) == ("stop", 1)
    answered = gl.generate(model, talk, tool_choice="none", **asked)
    assert (answered.finish_reason, answered.tries) == ("unsatisfied", 2)


@needs_jinja2
def test_conversations_are_told_why() -> None:
    """The next prompt ends with the failed answer and the reason; without feedback it is the same prompt."""
    model, tokenizer = gl.load_tiny()
    asked: list[str] = []

    def spying(ids: Any) -> Any:
        asked.append(tokenizer.decode(ids[0]))
        return model(ids).logits

    def no(value: Any) -> None:
        raise ValueError(f"{value} is wrong")

    talk = [{"role": "user", "content": "45 + 3"}]
    for feedback in (True, False):
        asked.clear()
        out = gl.generate(
            spying, talk, tokenizer=tokenizer, choices=["5", "6"], check=no, retries=1, feedback=feedback, forced="off"
        )
        prompts = [text for text in asked if text.endswith("\n")]
        first = gl.generate(model, talk, choices=["5", "6"]).text
        told = f"45 + 3\n{first}\nThis answer is refused: ValueError: {first} is wrong. Answer again.\n"
        assert prompts[-1] == (told if feedback else "45 + 3\n")
        assert out.tries == 2
        assert out.finish_reason == "unsatisfied"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (np.False_, "check= refuses the value"),
        (0, "check= returns int: 0; it takes True, False or None, bool(...) for instance"),
        (torch.tensor(False), "check= returns Tensor: tensor(False); it takes True, False or None"),
        (re.match("a", "a"), "check= returns Match: "),
        ([], "check= returns list: []"),
    ],
)
def test_what_is_no_verdict_lets_nothing_through(said: Any, error: str) -> None:
    """Only False itself failed an answer: one that numpy's, torch's or a coroutine's "false" spoke against was taken."""
    out = ask([65], check=lambda value: said)
    assert (out.finish_reason, out.value) == ("unsatisfied", None)
    assert out.error.startswith(error)
    assert ask([65], check=lambda value: np.True_).value is not None


def test_a_predicate_that_would_be_awaited_lets_nothing_through() -> None:
    class Later:
        def __await__(self) -> Any:
            raise AssertionError

    for where in (lambda text: Later(), Many(Later())):
        out = ask([65], where=where)
        assert (out.finish_reason, out.value) == ("error", None)
        assert "returns Later, which would have to be awaited; it takes a bool" in out.error


class Many:
    def __init__(self, said: Any):
        self.said = said

    def __call__(self, text: str) -> Any:
        return self.said

    def many(self, texts: list[str]) -> list[Any]:
        return [self.said] * len(texts)


async def awaited(value: Any) -> bool:
    return False


class Awaited:
    async def __call__(self, value: Any) -> bool:
        return False


@pytest.mark.parametrize(
    ("options", "said"),
    [({"retries": -1}, "retries=-1; it takes an integer from 0 to 1024"), ({"retries": True}, "retries is True"),
     ({"check": 3}, "check is 3; it takes a function"),
     ({"check": awaited}, "a coroutine function; it takes one that is called, not awaited"),
     ({"where": awaited}, "a coroutine function; it takes one that is called, not awaited"),
     ({"where": Awaited()}, "a coroutine function"),
     ({"feedback": 2}, "feedback=2; it takes True or False")],
)  # fmt: skip
def test_bad_input(options: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        ask([65], **options)


def test_streams_take_no_check() -> None:
    with pytest.raises(ValueError, match=r"stream\(\) takes no check= and no retries="):
        gl.stream(MODEL, [65], vocab=BYTES, retries=1)
