"""The rows of a task: what each drafter needs for all prompts.

Each row is one `gl.Draft` that answers all prompts of a task, one after another, so that what it learns from earlier
answers counts in later ones. Every answer must be the one without a draft, or the run ends. Answers of other packages (peers.py)
are compared, too, and those that differ are counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


Way = Callable[[Any, Any, Sequence[Example], bool], tuple[Cost, list[str]]]  # (model, tokenizer, prompts, constrained?)


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
    return lambda model, tokenizer, asked, constrained: measure(model, tokenizer, asked, arguments, constrained)


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

    def answered(model: Any, tokenizer: Any, asked: Sequence[Example], constrained: bool) -> tuple[Cost, list[str]]:
        counts, texts = by_transformers(options, model, tokenizer, asked, MAX_TOKENS, constrained)
        return Cost(**counts), texts

    return answered


def measure(
    model: Any, tokenizer: Any, asked: Sequence[Example], arguments: Mapping[str, Any], constrained: bool
) -> tuple[Cost, list[str]]:
    tokens = forwards = drafted = accepted = 0
    texts, start = [], time.perf_counter()
    for one in asked:
        grammar = constraint(one.form) if constrained else {}
        out = gl.generate(model, one.prompt, tokenizer=tokenizer, max_tokens=MAX_TOKENS, **grammar, **arguments)
        tokens, forwards = tokens + out.stats.tokens + 1, forwards + out.stats.forwards
        drafted, accepted = drafted + out.stats.draft_tokens, accepted + out.stats.accepted_tokens
        texts.append(out.text)
    return Cost(tokens, forwards, drafted, accepted, time.perf_counter() - start), texts


def rows_of_task(
    task: str, count: int, names: Sequence[str], constrained: bool, peers: Sequence[str] = ()
) -> tuple[dict[str, Cost], list[str]]:
    """The rows of a task, and what there is to say about peers' answers."""
    model, tokenizer = gl.load_tiny()
    asked = [example("heldout", index, task) for index in range(count)]
    found: dict[str, Cost] = {}
    expected: list[str] = []
    notes = []
    others = {PEERS[peer] for peer in peers}
    for name, answer in ways(names, peers).items():
        answer()(model, tokenizer, asked[:2], constrained)  # what is compiled once is nobody's time
        found[name], texts = answer()(model, tokenizer, asked, constrained)
        expected = expected or texts
        differ = sum(one != other for one, other in zip(texts, expected, strict=True))
        if differ and name not in others:
            raise AssertionError(f"{name} on {task}: an answer is not the one without a draft")
        if differ:
            notes.append(f"{name} on {task}: {differ} of {count} answers are not those without a draft")
    return found, notes
