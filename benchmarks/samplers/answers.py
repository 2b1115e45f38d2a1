"""Answers of the embedded diffusion model: how many are right, how many are no text of the grammar, what the canvas takes.

Prompts of one length are answered side by side, and each lot by all samplers before the next one, so that rows which several
samplers come by are read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import grammarlm as gl
from grammarlm.decoding.answers.answer_format import read_format
from grammarlm.decoding.compiled_caches import stop_ids_of, vocabulary_of
from grammarlm.masks.constraint import Constraint
from training.corpus import Example, constraint, example

from .remembered import Remembered

LENGTH = 64  # places of an answer; longer answers are not asked for
LOT = 8  # prompts that are answered side by side
PATIENCE = gl.Limits(max_ms=60_000)  # a first canvas may take long on a busy machine
Judge = Callable[[Example, Any], bool]


@dataclass(frozen=True)
class Way:
    """How prompts are answered."""

    sampler: str
    steps: int
    constrained: bool


@dataclass(frozen=True)
class Filled:
    """Of all answers to a task by one way."""

    sampler: str
    steps: int
    constrained: bool
    answers: int
    right: int
    invalid: int  # no text of the grammar
    refused: int  # answers that ended in LimitExceeded: neither right nor invalid
    model_calls: int
    tokens: int  # of the answers, without stop ids
    model_ms: float  # of one row in a call: a mean over the task, as rows that were read already are not read again
    canvas_ms: float  # of all steps

    @property
    def canvas_ms_a_step(self) -> float:
        return self.canvas_ms / max(self.model_calls, 1)

    @property
    def tokens_a_call(self) -> float:
        return self.tokens / max(self.model_calls, 1)


def ways(samplers: Sequence[str], steps: Sequence[int]) -> list[Way]:
    return [Way(sampler, n, held) for sampler in samplers for n in steps for held in (True, False)]


def prompts(tokenizer: Any, task: str, count: int, split: str = "heldout") -> list[Example]:
    """The first prompts whose answers fit; `count` of an easy split, fewer where few of the hard ones fit."""
    found: list[Example] = []
    for index in range(4 * count):
        one = example(split, index, task)
        if len(found) < count and len(tokenizer.encode(one.answer)) < LENGTH:
            found.append(one)
    return found


@cache
def compiled(form: str, vocab: gl.Vocabulary) -> Constraint:
    grammar = read_format(**constraint(form)).grammar
    assert grammar is not None
    return gl.compile(grammar, vocab, limits=PATIENCE)


@cache
def has_canvas(form: str, vocab: gl.Vocabulary) -> bool:
    """Within PATIENCE."""
    try:
        return compiled(form, vocab).canvas(LENGTH).is_completable([-1] * LENGTH)
    except (gl.LimitExceeded, gl.UnsupportedFeature):
        return False


def is_text(vocab: gl.Vocabulary, one: Example, out: Any) -> bool:
    """By the matcher of the answer's grammar."""
    matcher = compiled(one.form, vocab).matcher()
    return all(map(matcher.advance, out.tokens)) and matcher.is_accepting


@dataclass(frozen=True)
class Answering:
    """The model, and the vocabulary whose stop ids its padding is one of."""

    model: Remembered
    tokenizer: Any
    vocab: gl.Vocabulary

    @classmethod
    def of(cls, model: Any, tokenizer: Any) -> Answering:
        return cls(
            Remembered(model), tokenizer, vocabulary_of(tokenizer, len(tokenizer), stop_ids_of(model, tokenizer))
        )

    def answers(self, asked: Sequence[Example], way: Way) -> list[Any]:
        """A Result for each; None where it ended in LimitExceeded."""
        held = [one for one in asked if not way.constrained or has_canvas(one.form, self.vocab)]
        found = self.written(held, way) if held else []
        by = dict(zip(map(id, held), found, strict=True))
        return [by.get(id(one)) for one in asked]

    def written(self, asked: Sequence[Example], way: Way) -> list[Any]:
        write = partial(
            gl.generate,
            self.model,
            vocab=self.vocab,
            mask_id=self.tokenizer.mask_token_id,
            max_tokens=LENGTH,
            method="diffusion",
            sampler=way.sampler,
            steps=way.steps,
        )
        ids = [self.tokenizer.encode(one.prompt) for one in asked]
        grammars = [compiled(one.form, self.vocab) if way.constrained else None for one in asked]
        try:
            found: list[Any] = write(ids, grammar=grammars)  # type: ignore[assignment]
            return found
        except gl.LimitExceeded:
            if len(asked) == 1:
                return [None]
            return [self.written([one], way)[0] for one in asked]


def measure(
    model: Any, tokenizer: Any, asked: Sequence[Example], wanted: Sequence[Way], judge: Judge | None = None
) -> list[Filled]:
    """AssertionError where a constrained answer is no text of its grammar; judge: says so instead of the grammar's matcher."""
    answering = Answering.of(model, tokenizer)
    judge = judge or partial(is_text, answering.vocab)
    answers: dict[Way, list[tuple[Example, Any]]] = {way: [] for way in wanted}
    for lot in lots(asked, tokenizer):
        for way in wanted:
            answers[way] += zip(lot, answering.answers(lot, way), strict=True)
    return [counted(way, answers[way], judge, answering.model.ms_a_row) for way in wanted]


def lots(asked: Sequence[Example], tokenizer: Any) -> Iterator[list[Example]]:
    """Prompts of one length, a few at a time."""
    by: dict[int, list[Example]] = {}
    for one in asked:
        by.setdefault(len(tokenizer.encode(one.prompt)), []).append(one)
    for each in by.values():
        for start in range(0, len(each), LOT):
            yield each[start : start + LOT]


def counted(way: Way, answers: Sequence[tuple[Example, Any]], judge: Judge, model_ms: float) -> Filled:
    made = [(one, out) for one, out in answers if out is not None]
    wrong = [(one, out) for one, out in made if not judge(one, out)]
    if way.constrained and wrong:
        one, out = wrong[0]
        raise AssertionError(f"{way.sampler}, {way.steps} steps: {out.text!r} is no text of the grammar of {one.form}")
    return Filled(
        way.sampler,
        way.steps,
        way.constrained,
        len(answers),
        sum(out.text == one.answer for one, out in made),
        len(wrong),
        len(answers) - len(made),
        sum(out.stats.forwards for _, out in made),
        sum(out.stats.tokens for _, out in made),
        model_ms,
        sum(1000 * out.stats.mask_seconds for _, out in made),
    )


def together(each: Sequence[Filled]) -> Filled:
    """One way's figures of several tasks as one."""
    first, calls = each[0], sum(one.model_calls for one in each)
    sums = {
        name: sum(getattr(one, name) for one in each) for name in ("answers", "right", "invalid", "refused", "tokens")
    }
    model_ms = sum(one.model_ms * one.model_calls for one in each) / max(calls, 1)
    return Filled(
        first.sampler,
        first.steps,
        first.constrained,
        model_calls=calls,
        model_ms=model_ms,
        canvas_ms=sum(one.canvas_ms for one in each),
        **sums,
    )
