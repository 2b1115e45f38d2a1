"""Beam search over item sets: the best items out of millions; no other token sequence is possible.

    result = beam_search(step, gl.Tokens(matrix), beams=20)
    result.items, result.scores, result.tokens

`step(tokens, parents) -> logits [len(parents), V]` reads `tokens[i]` after the prefix of row `parents[i]` of the previous call; the
first call has `tokens=None, parents=[0]`. Instead of `step`, a transformers model, causal or encoder-decoder:
`beam_search(model, items, prompt=...)`.

Each level keeps the best `beams` of open prefixes and finished items together, exactly: every child of every prefix competes. A
finished item keeps its score and is not read again. It ends without a token, or with `stop`, whose log-probability then counts.
Ties are ordered by tokens. A token whose log-probability is -inf or NaN is never taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from grammarlm.decoding.arguments import check_integer, check_number
from grammarlm.vocab.vocabulary import Vocabulary

from .item_set import ItemSet, Subset, item_set
from .levels import Levels, Policy, Settings, results
from .models import MOST_BEAMS, model_step
from .policies import Best, Guided, Sampled
from .result import BeamResult
from .search import Searched

NORMALISE = ("full", "allowed")


def beam_search(
    step: Any,
    items: Any,
    beams: int = 20,
    stop: int | None = None,
    *,
    prompt: Any = None,
    batch: int | None = None,
    normalise: str | None = None,
    groups: int = 1,
    diversity: float = 0.5,
    value: Callable[[list[tuple[int, ...]]], Any] | None = None,
    proposals: int | None = None,
    value_budget: int | None = None,
    seed: int | None = None,
    subset: Any = None,
    exclude: Iterable[Sequence[int]] = (),
    vocab: Vocabulary | None = None,
) -> BeamResult | list[BeamResult]:
    """The best `beams` items, or fewer where there are fewer: tokens, scores, row numbers.

    items: a gl.Tokens, what it takes, or an ItemSet. With `batch`, or a list of prompts, one result for each search.
    normalise: "full", log-softmax over the vocabulary, or "allowed", over the tokens that can come next.
    groups, diversity: diverse beam search: groups of beams, one after the other; a token costs `diversity` for each time that an
    earlier group took it at this level (Hamming diversity). Reported scores are without it. An item found by several groups is
    returned once.
    value: a function of a list of prefixes; beams are kept by score + value, among the `proposals` best by score (four times
    the beams), and it is called on at most `value_budget` prefixes of each search.
    seed: samples items without replacement instead, with the probabilities that "allowed" gives them; in the order of the draws.
    subset: what `items.subset(...)` returns, or flags or numbers of rows; one for all, or a list with one for each search.
    exclude: items that must not be returned, as token sequences. vocab: encodes items that are strings.
    """
    _check(beams, stop, groups, diversity, value, proposals, value_budget, seed)
    normalise = normalised(normalise, seed)
    known = item_set(items, None if vocab is None else vocab.encode)
    read, searches = model_step(step, prompt, batch, known.longest + 1)
    searched = Searched.of(known, _subsets(known, subset, exclude, searches or 1))
    settings = Settings(beams, -1 if stop is None else stop, normalise, groups, float(diversity))
    levels = Levels(
        searched, settings, _policies(searched, settings, value, proposals or 4 * beams, value_budget, seed)
    )
    with torch.no_grad():
        while levels.rows:
            levels.advance(read(levels.tokens, levels.parents))
    found = results(levels, known.ids)
    return found if searches is not None else found[0]


def _check(
    beams: int, stop: Any, groups: Any, diversity: Any, value: Any, proposals: Any, value_budget: Any, seed: Any
) -> None:
    check_integer("beams", beams, 1, MOST_BEAMS)
    check_integer("stop", stop, 0, optional=True)
    check_integer("groups", groups, 1, beams)
    check_number("diversity", diversity, lambda x: 0 <= x < float("inf"), "0 or more")
    check_integer("proposals", proposals, beams, MOST_BEAMS, optional=True)
    check_integer("value_budget", value_budget, 0, 2**63 - 1, optional=True)
    check_integer("seed", seed, 0, 2**63 - 1, optional=True)
    if value is not None and not callable(value):
        raise TypeError(f"value is {type(value).__name__}; it takes a function of a list of prefixes")
    if value is None and (proposals is not None or value_budget is not None):
        raise ValueError("proposals= and value_budget= are about value=, and there is none")
    chosen = [
        name
        for name, given in (("groups", groups > 1), ("value", value is not None), ("seed", seed is not None))
        if given
    ]
    if len(chosen) > 1:
        raise ValueError(
            f"{' and '.join(f'{name}=' for name in chosen)} are given; a search keeps its beams by one of them"
        )


def normalised(normalise: str | None, seed: int | None) -> str:
    if normalise is None:
        return "full" if seed is None else "allowed"
    if normalise not in NORMALISE:
        raise ValueError(f"normalise={normalise!r:.60}; it takes {' or '.join(map(repr, NORMALISE))}")
    if seed is not None and normalise == "full":
        raise ValueError(
            'seed= draws from a distribution over the items, which normalise="allowed" gives; "full" gives none'
        )
    return normalise


def _subsets(items: ItemSet, subset: Any, exclude: Iterable[Sequence[int]], searches: int) -> list[Subset | None]:
    """One subset for each search."""
    excluded = tuple(tuple(item) for item in exclude)
    given = (
        subset
        if isinstance(subset, list) and any(isinstance(s, Subset) or s is None for s in subset)
        else [subset] * searches
    )
    if len(given) != searches:
        raise ValueError(f"there are {len(given)} subsets for {searches} searches; give one for each, or one for all")
    made: dict[int, Subset | None] = {}
    for one in given:
        if id(one) not in made:
            wanted = one if isinstance(one, Subset) or one is None else items.subset(one)
            if excluded:
                wanted = (wanted or Subset()).without(excluded)
            made[id(one)] = wanted
    return [made[id(one)] for one in given]


def _policies(
    searched: Searched, settings: Settings, value: Any, proposals: int, budget: int | None, seed: int | None
) -> list[Policy]:
    if value is not None:
        return [Guided(searched, value, proposals, budget)]
    if seed is not None:
        return [Sampled(len(searched.sets.selections), seed)]
    return [Best() for _ in range(settings.groups)]
