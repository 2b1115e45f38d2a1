"""The texts of all calls of a model: which of them share forwards.

Prompts that begin at the same time are read together. Then their texts join those that are being decoded, so that a forward has all
of them, whatever their grammars, sampling and lengths. Texts that cannot share a cache with others of unequal length (sliding
windows, states) stay with those that they began with, and such companies have a forward each in turn.

Where a forward fails nobody knows whose fault it is: each of its calls begins again by itself, and the one that fails again has
failed. Its answers are equal, since random numbers depend on the seed and the position alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.methods.masked import start
from grammarlm.decoding.readers.kept import KeptTexts

from .calls import Answer, Call

Begin: TypeAlias = "tuple[Call, range]"  # prompts of a call, by their numbers
Kind: TypeAlias = "tuple[int, str]"  # what texts have in common that share forwards: the width of masks, the cache


@dataclass(eq=False)
class Company:
    """Texts that share their forwards: answer i is row i."""

    decoding: Decoding
    answers: list[Answer]
    kind: Kind
    is_alone: bool  # of a call that begins again by itself

    @property
    def calls(self) -> list[Call]:
        return list(dict.fromkeys(answer.call for answer in self.answers))

    def may_share(self, other: Company) -> bool:
        return (
            self.kind == other.kind
            and not (self.is_alone or other.is_alone)
            and self.decoding.may_join
            and other.decoding.may_join
        )


class Companies:
    """All texts that have begun and not ended. Not thread-safe."""

    def __init__(self) -> None:
        self._companies: list[Company] = []

    @property
    def count(self) -> int:
        """Of the texts."""
        return sum(len(each.answers) for each in self._companies)

    def begin(self, prompts: Sequence[Begin]) -> None:
        """These prompts are read, each with those of its kind; then their texts are among the others."""

        def key(begin: Begin) -> tuple[Kind, int, int]:
            request = begin[0].request
            return kind_of(begin[0]), request.n, id(request.specs[0].settings.cache)  # what a Generator has kept

        known = len(self._companies)
        for (kind, *_), group in groupby(sorted(prompts, key=key), key):
            self._begin(list(group), kind, is_alone=False)
        self._read(self._companies[known:])

    def _begin(self, prompts: Sequence[Begin], kind: Kind, is_alone: bool) -> None:
        first = prompts[0][0].request
        places = [(call.request, number) for call, numbers in prompts for number in numbers]
        together = replace(
            first,
            prompts=[request.prompts[number] for request, number in places],
            specs=[request.specs[number] for request, number in places],
        )
        answers = [each for call, numbers in prompts for each in answers_of(call, numbers)]
        try:
            company = Company(start(together), answers, kind, is_alone)
        except BaseException as error:
            self._after_failure(prompts, kind, error)
        else:
            self._companies.append(company)

    def turn(self) -> None:
        """A forward of each company."""
        self._read(list(self._companies))

    def _read(self, companies: Sequence[Company]) -> None:
        for company in companies:
            try:
                self._turn(company)
            except BaseException as error:
                self._companies.remove(company)
                unfinished = [(call, prompts_of(call, company)) for call in company.calls]
                self._after_failure(unfinished, company.kind, error)
        self._companies = joined(each for each in self._companies if each.answers)

    def fail(self, calls: Iterable[Call], error: BaseException) -> None:
        """Of these calls, and of all whose texts have begun."""
        for call in [*calls, *(call for company in self._companies for call in company.calls)]:
            call.fail(error)
        self._companies = []

    def _turn(self, company: Company) -> None:
        decoding = company.decoding
        give_up_unwanted(company)
        for step in decoding.turn():
            company.answers[step.row].more(step)
        give_up_unwanted(company)
        ended = [row is None or row.finish_reason is not None for row in decoding.rows]  # None: it was given up
        for answer, row in zip(company.answers, decoding.rows, strict=True):
            if row is not None and row.finish_reason is not None:
                answer.end(row)
        company.answers = [answer for answer, is_over in zip(company.answers, ended, strict=True) if not is_over]
        decoding.forget_ended()

    def _after_failure(self, prompts: Sequence[Begin], kind: Kind, error: BaseException) -> None:
        """It is the only call's, or each of them begins again."""
        if len(prompts) == 1:
            prompts[0][0].fail(error)
            return
        for call, numbers in prompts:
            if not call.future.done():
                for answer in answers_of(call, numbers):
                    answer.begin_again()
                self._begin([(call, numbers)], kind, is_alone=True)


def kind_of(call: Call) -> Kind:
    spec = call.request.specs[0]
    cache = spec.settings.cache
    return spec.vocab.size, (cache.cache if isinstance(cache, KeptTexts) else cache) or ""


def answers_of(call: Call, numbers: Iterable[int]) -> list[Answer]:
    """To these prompts."""
    n = call.request.n
    return [answer for number in numbers for answer in call.answers[number * n : (number + 1) * n]]


def prompts_of(call: Call, company: Company) -> range:
    """From the first to the last of a call's prompts that have answers in a company."""
    own = [at for at, answer in enumerate(call.answers) if answer in company.answers]
    return range(own[0] // call.request.n, own[-1] // call.request.n + 1)


def give_up_unwanted(company: Company) -> None:
    rows = zip(company.decoding.rows, company.answers, strict=True)
    unwanted = [row for row, answer in rows if row is not None and not row.finish_reason and not answer.is_wanted]
    if unwanted:
        company.decoding.give_up(unwanted)


def joined(companies: Iterable[Company]) -> list[Company]:
    """One in place of those that can share forwards."""
    found: list[Company] = []
    for company in companies:
        other = next((each for each in found if each.may_share(company)), None)
        if other is None:
            found.append(company)
        else:
            other.decoding.join(company.decoding)
            other.answers += company.answers
    return found
