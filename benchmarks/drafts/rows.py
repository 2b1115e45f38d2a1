"""The rows of a task: what each drafter needs for all prompts.

Each row is one `gl.Draft` that answers all prompts of a task, one after another, so that what it learns from earlier
answers counts in later ones. Answers that are not those without a draft are counted; those of other packages (peers.py), too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import grammarlm as gl
from grammarlm.published.drafters.recycle import RECYCLED
from training.corpus import Example, constraint, example

from .peers import PEERS, ArcticSuffix, by_transformers, missing, options_of, shuffled

TASKS = ("record", "edit", "agent", "calls", "sql", "list", "plain")
MAX_TOKENS = 192
TRAINED = ("draft", "heads", "features")


@dataclass(frozen=True)
class Cost:
    """Of all answers to a task."""

    tokens: int  # stop ids included
    forwards: int
    drafted: int
    accepted: int
    seconds: float
    answers: int = 0
    differ: int = 0  # from those without a draft

    @property
    def forwards_a_token(self) -> float:
        return self.forwards / self.tokens

    @property
    def accepted_a_round(self) -> float:
        return self.accepted / self.forwards


def trained(name: str) -> Any:
    """One of the embedded model's own drafters."""
    from grammarlm.decoding.speculative.drafters.heads import Heads
    from grammarlm.published.drafters.features import Features

    model, _ = gl.load_tiny(**{name: True})  # type: ignore[call-overload]
    return {"draft": lambda: model, "heads": lambda: Heads(model), "features": lambda: Features(model)}[name]()


# (model, tokenizer, prompts, constrained?, how many answers at once)
Way = Callable[[Any, Any, Sequence[Example], bool, int], tuple[Cost, list[str]]]


def ways(names: Sequence[str], peers: Sequence[str] = ()) -> dict[str, Callable[[], Way]]:
    """How each row answers, made anew for each task."""
    found: dict[str, Callable[[], Way]] = {
        "no draft": partial(answering, {"forced": "off"}),
        "forced runs": partial(answering, {}),
    }
    for name in names:
        found[name] = partial(way, name)
    if "universal" in peers and not missing(PEERS["universal"]):
        found["draft, other vocabulary"] = other_vocabulary
    for peer in peers:
        if not missing(PEERS[peer]):
            found[PEERS[peer]] = partial(peer_way, peer)
    return found


def answering(arguments: Mapping[str, Any]) -> Way:
    return lambda model, tokenizer, asked, constrained, at_once: measure(
        model, tokenizer, asked, arguments, constrained, at_once
    )


def way(name: str) -> Way:
    drafter = trained(name) if name in TRAINED else name
    return answering({"draft": gl.Draft(drafter, tree=RECYCLED if name == "recycle" else "chain")})


def other_vocabulary() -> Way:
    """The draft model that transformers' universal row has."""
    draft, tokenizer = shuffled(*gl.load_tiny(draft=True))
    return answering({"draft": gl.Draft(draft, tokenizer=tokenizer)})


def peer_way(peer: str) -> Way:
    if peer == "arctic":
        return answering({"draft": gl.Draft(ArcticSuffix())})
    options = options_of(PEERS[peer], gl.load_tiny()[1])

    def answered(
        model: Any, tokenizer: Any, asked: Sequence[Example], constrained: bool, _: int
    ) -> tuple[Cost, list[str]]:
        counts, texts = by_transformers(options, model, tokenizer, asked, MAX_TOKENS, constrained)
        return Cost(**counts), texts

    return answered


def measure(
    model: Any,
    tokenizer: Any,
    asked: Sequence[Example],
    arguments: Mapping[str, Any],
    constrained: bool,
    at_once: int = 1,
) -> tuple[Cost, list[str]]:
    """Prompts of one grammar are answered `at_once` together; forwards are counted for each answer."""
    tokens = forwards = drafted = accepted = 0
    texts, start = [""] * len(asked), time.perf_counter()
    for form, numbers in batches(asked, at_once):
        grammar = constraint(form) if constrained else {}
        prompts = [asked[number].prompt for number in numbers]
        outs = gl.generate(model, prompts, tokenizer=tokenizer, max_tokens=MAX_TOKENS, **grammar, **arguments)
        for number, out in zip(numbers, outs, strict=True):
            tokens, forwards = tokens + out.stats.tokens + 1, forwards + out.stats.forwards
            drafted, accepted = drafted + out.stats.draft_tokens, accepted + out.stats.accepted_tokens
            texts[number] = out.text
    return Cost(tokens, forwards, drafted, accepted, time.perf_counter() - start), texts


def batches(asked: Sequence[Example], at_once: int) -> Iterator[tuple[str, list[int]]]:
    """The prompts' numbers, at most so many together, each with their form."""
    waiting: dict[str, list[int]] = {}
    for number, one in enumerate(asked):
        numbers = waiting.setdefault(one.form, [])
        numbers.append(number)
        if len(numbers) == at_once:
            yield one.form, waiting.pop(one.form)
    yield from waiting.items()


def answered_by_all(
    asked: Sequence[Example], found: Mapping[str, Callable[[], Way]], constrained: bool, at_once: int
) -> dict[str, Cost]:
    """The costs of all ways, the first of which has no draft."""
    model, tokenizer = gl.load_tiny()
    costs: dict[str, Cost] = {}
    expected: list[str] = []
    for name, answer in found.items():
        answer()(model, tokenizer, asked[:2], constrained, at_once)  # what is compiled once is nobody's time
        cost, texts = answer()(model, tokenizer, asked, constrained, at_once)
        expected = expected or texts
        differ = sum(one != other for one, other in zip(texts, expected, strict=True))
        costs[name] = replace(cost, answers=len(asked), differ=differ)
    return costs


def rows_of_task(
    task: str, count: int, names: Sequence[str], constrained: bool, peers: Sequence[str] = ()
) -> dict[str, Cost]:
    """The rows of a task, one answer after another."""
    asked = [example("heldout", index, task) for index in range(count)]
    return answered_by_all(asked, ways(names, peers), constrained, 1)


def rows_at_once(
    tasks: Sequence[str], count: int, names: Sequence[str], constrained: bool, at_once: int
) -> dict[str, Cost]:
    """The rows of all tasks' prompts together, so many answers at once."""
    asked = [example("heldout", index, task) for task in tasks for index in range(count)]
    return answered_by_all(asked, ways(names), constrained, at_once)
