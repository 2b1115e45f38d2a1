"""Ids that a model writes something else into than text, such as a prediction: they are read, and never drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grammarlm.decoding.arguments import MOST_IDS, check_integer
from grammarlm.decoding.request import Request, compile_format
from grammarlm.decoding.settings import AnswerSpec
from grammarlm.vocab.vocabulary import Vocabulary


def reserving(request: Request, reserved: Iterable[int]) -> Request:
    """The request, none of whose answers holds one of these ids.

    Ids that spell text are taken out of the vocabulary, so that what they would spell is spelled by others, in every grammar.
    """
    ids = checked(reserved)
    vocab = request.specs[0].vocab
    within = tuple(sorted({number for number in ids if number < vocab.size}))  # no others exist
    if stops := sorted({*within} & {*vocab.stop_ids}):
        raise ValueError(
            f"reserved= holds the id {stops[0]}, which ends texts; reserve ids that nothing is written with"
        )
    if not within:
        return request
    less = vocab.without(within) if {*within} & {*vocab.text_ids.tolist()} else vocab
    return replace(request, specs=[spec_without(spec, less, within) for spec in request.specs])


def checked(reserved: Iterable[int]) -> list[int]:
    if isinstance(reserved, (str, bytes)) or not isinstance(reserved, Iterable):
        raise TypeError(f"reserved is {reserved!r:.60}; it takes a list of ids")
    ids = list(reserved)
    for at, number in enumerate(ids):
        check_integer(f"reserved[{at}]", number, 0, MOST_IDS)
    return [int(number) for number in ids]


def spec_without(spec: AnswerSpec, vocab: Vocabulary, ids: tuple[int, ...]) -> AnswerSpec:
    """`vocab`: the vocabulary without those of the ids that spell text."""
    if vocab is spec.vocab or spec.constraint is None:
        return replace(spec, vocab=vocab, reserved=ids)
    if spec.form.constraint is not None:
        raise ValueError(
            "reserved= holds ids that spell text, and the grammar is compiled with them; pass the grammar itself, to be compiled "
            "without them"
        )
    constraint, _ = compile_format(spec.form, vocab, spec.settings.limits, spec.settings.unknown)
    return replace(spec, vocab=vocab, constraint=constraint, reserved=ids)
