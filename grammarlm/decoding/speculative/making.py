"""Drafters from what a caller passes: names, models and lists of these, each with the options that it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from grammarlm.decoding.systems import AUTO, AUTO_MEMBERS, DRAFTERS, MODEL, OTHER_VOCABULARY, TRANSFER, system
from grammarlm.errors import brief
from grammarlm.vocab.vocabulary import Vocabulary

from .drafters.combined import Combined
from .drafters.drafter import Drafter

Make = Callable[..., Drafter]


def drafter_of(drafter: Any, vocab: Vocabulary | None, options: Mapping[str, Any], others: Iterable[str]) -> Drafter:
    """A list gives each option to those of its members that have it. `others`: what else may have been meant by one."""
    known: set[str] = set()
    used: set[str] = set()

    def build(one: Any) -> Drafter:
        if isinstance(one, Drafter):
            return one
        if isinstance(one, str) and one == AUTO:
            one = AUTO_MEMBERS
        if isinstance(one, (list, tuple)):
            if not one:
                raise ValueError("a list of drafters needs at least one: names or models")
            return Combined([build(member) for member in one])
        make = named(one) if isinstance(one, str) else of_model(one, vocab, options)
        own = set(inspect.signature(make).parameters)
        known.update(own)
        used.update({"vocab"} if not isinstance(one, str) else (), own & set(options))
        return make(**{name: options[name] for name in options if name in own})

    made = build(drafter)
    for name in options:
        if name not in used:
            raise unknown_option(drafter, name, sorted(known), others)
    if vocab is not None and "vocab" not in used:
        raise ValueError("vocab= and tokenizer= say what the ids of a draft model mean; none is passed here as a model")
    return made


def named(name: str) -> Make:
    check_name("drafter", name, (*DRAFTERS, AUTO))
    make: Make = system(DRAFTERS[name])
    return make


def of_model(model: Any, vocab: Vocabulary | None, options: Mapping[str, Any]) -> Make:
    if not callable(model):
        raise TypeError(f"a drafter is a name, a model or a list of these, not {type(model).__name__}")
    if vocab is not None:
        return partial(system(OTHER_VOCABULARY), model, vocab)
    return partial(system(TRANSFER if options.get("transfer") else MODEL), model)


def unknown_option(drafter: Any, name: str, known: Sequence[str], others: Iterable[str]) -> ValueError:
    near = get_close_matches(name, [*known, *others], 1)
    hint = f" (did you mean {near[0]}=?)" if near else ""
    own, rest = (", ".join(f"{each}=" for each in some) for some in (known, others))
    return ValueError(
        f"a draft by {brief(drafter)} has no option {name[:60]}={hint}; there are {own or 'none of its own'}, and for any "
        f"draft {rest}"
    )


def check_name(what: str, name: Any, known: Any) -> None:
    if name not in list(known):
        near = get_close_matches(str(name), known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"there is no such {what} for a draft: {name!r}{hint}; there are {', '.join(map(repr, known))}"
        )
