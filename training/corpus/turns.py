"""Texts with something before the request that the answer repeats: edits of a record, second turns, an agent's next call."""

import json
from typing import Any

from training.corpus import words
from training.corpus.calls import Call, agent
from training.corpus.draw import Draw, as_sentence, listed
from training.corpus.records import Record, drawn_record


def to_json(value: Any) -> str:
    """The style of every answer: no spaces, keys in the order of the kind, no escapes of non-ASCII characters."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def next_call(draw: Draw) -> tuple[str, Call]:
    """An agent's session up to some moment, and the call that comes next."""
    request, results, made = agent(draw)
    count = draw.rng.randint(1, len(results))
    lines = [line for number in range(count) for line in (to_json(made[number]), results[number])]
    return "\n".join([request, *lines]), made[count]


AGAIN = ("again, please.", "repeat the record.", "the same once more.", "print that again.")
UNSEEN_AGAIN = ("I lost it, show it to me.", "one more copy of it.")
WHICH = ("the {} record again.", "repeat the {} one.")
UNSEEN_WHICH = ("I lost the {} record, show it to me.",)
ORDINALS = ("first", "second", "third", "fourth")


def repeat(draw: Draw, kind: str) -> tuple[str, Record]:
    """One or two sentences with their records, and a request for one of these again."""
    turns = [drawn_record(draw, kind) for _ in range(draw.number(1, 2, larger=1))]
    lines = [line for sentence, record in turns for line in (sentence, to_json(record))]
    chosen = draw.rng.randrange(len(turns))
    if len(turns) == 1:
        return "\n".join([*lines, as_sentence(draw.wording(AGAIN, UNSEEN_AGAIN))]), turns[0][1]
    request = draw.wording(WHICH, UNSEEN_WHICH).format(ORDINALS[chosen])
    return "\n".join([*lines, as_sentence(request)]), turns[chosen][1]


CHANGES = (("set {}.", "to"), ("change {}.", "to"), ("the same, but {}.", "is"), ("no, {}.", "is"))
UNSEEN_CHANGES = (("I hear that {} now.", "is"), ("turn {} in it.", "into"))
REMOVALS = ("remove the {}.", "without the {}.")
UNSEEN_REMOVALS = ("nobody needs the {}.",)


def changed(draw: Draw, kind: str, key: str) -> tuple[Any, str]:
    """A new value of a key of a record, and how a request writes it."""
    if key in ("date", "delivery"):
        return draw.date()
    if key == "paid":
        paid = draw.maybe(0.5)
        return paid, "yes" if paid else "no"
    if key == "title":
        title = f"{draw.one(words.EVENT_THEMES)} {draw.one(words.EVENT_KINDS)}"
        return title, title
    value = drawn_record(draw, kind)[1].get(key)
    return value, str(value)


SCALARS = {
    "person": ("name", "age", "city", "job"),
    "order": ("customer", "item", "quantity", "price", "paid"),
    "basket": ("customer", "paid"),
    "event": ("title", "date", "time", "place"),
    "address": ("street", "number", "postcode", "city"),
    "product": ("name", "maker"),
}
OPTIONAL = ("email", "phone", "languages", "delivery", "speakers")


def edit(draw: Draw, kind: str) -> tuple[str, Record]:
    """A record, half of the time after its sentence, and a request to change or remove something."""
    sentence, record = drawn_record(draw, kind)
    lines = [sentence, to_json(record)] if draw.maybe(0.5) else [to_json(record)]
    optional = [key for key in OPTIONAL if key in record]
    if optional and not draw.larger and draw.maybe(0.4):
        key = draw.one(optional)
        request = draw.wording(REMOVALS, UNSEEN_REMOVALS).format(key)
        return "\n".join([*lines, as_sentence(request)]), {each: record[each] for each in record if each != key}
    keys = draw.some(SCALARS[kind], min(draw.number(1, 2, larger=1), len(SCALARS[kind])))
    new = {key: changed(draw, kind, key) for key in keys}
    request, verb = draw.wording(CHANGES, UNSEEN_CHANGES)
    request = request.format(listed([f"the {key} {verb} {said}" for key, (_, said) in new.items()]))
    edited = {key: new[key][0] if key in new else value for key, value in record.items()}
    return "\n".join([*lines, as_sentence(request)]), edited
