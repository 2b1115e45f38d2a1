"""Function calls: a request and its call or calls, and the next call of an agent that has made some."""

from collections.abc import Callable
from typing import Any

from training.corpus import words
from training.corpus.draw import Draw, as_sentence, listed

Call = dict[str, Any]

SENTENCES: dict[str, tuple[str, ...]] = {
    "send_message": ("tell {to}: {text}.", "send {to} this message: {text}.", 'write "{text}" to {to}.'),
    "set_alarm": (
        "wake me at {time} on {day}.",
        "set an alarm for {day} at {time}.",
        "alarm at {time}, {day}, please.",
    ),
    "set_timer": ("set a timer for {minutes} minutes.", "remind me in {minutes} minutes.", "count {minutes} minutes."),
    "convert": ("how many {target} are {amount} {source}?", "convert {amount} {source} to {target}."),
    "get_weather": ("what is the weather in {city} on {day}?", "will it rain on {day} in {city}?"),
    "book_table": (
        "book a table for {guests} at {place} at {time}.",
        "reserve a table in {place} for {guests} people, {time}.",
        "at {time} we want to eat at {place}, {guests} of us.",
    ),
}
UNSEEN_SENTENCES: dict[str, tuple[str, ...]] = {
    "send_message": ("let {to} know this: {text}.",),
    "set_alarm": ("on {day} I get up at {time}.",),
    "set_timer": ("ring after {minutes} minutes.",),
    "convert": ("I have {amount} {source} and need {target}.",),
    "get_weather": ("{city}, {day}: sun or rain?",),
    "book_table": ("{guests} hungry people come to {place} at {time}.",),
}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def as_call(function: str, arguments: dict[str, Any]) -> Call:
    return {"function": function, "arguments": arguments}


def call(draw: Draw) -> tuple[str, Call]:
    """A request in words, and the function call that answers it."""
    source, target = draw.some(words.CURRENCIES, 2)
    known: dict[str, Callable[[], dict[str, Any]]] = {
        "send_message": lambda: {"to": draw.full_name(), "text": draw.one(words.MESSAGES)},
        "set_alarm": lambda: {"time": draw.clock(), "day": draw.one(WEEKDAYS)},
        "set_timer": lambda: {"minutes": draw.rng.randint(2, 240)},
        "convert": lambda: {"amount": draw.price(), "source": source, "target": target},
        "get_weather": lambda: {"city": draw.city(), "day": draw.one(WEEKDAYS)},
        "book_table": lambda: {"place": draw.venue(), "guests": draw.rng.randint(2, 30), "time": draw.clock()},
    }
    function = draw.one(list(known))
    arguments = known[function]()
    sentence = draw.wording(SENTENCES[function], UNSEEN_SENTENCES[function]).format(**arguments)
    return as_sentence(sentence), as_call(function, arguments)


def calls(draw: Draw) -> tuple[str, list[Call]]:
    """Several requests in a line, and as many calls."""
    drawn = [call(draw) for _ in range(draw.number(2, 3, larger=1))]
    return " ".join(sentence for sentence, _ in drawn), [made for _, made in drawn]


TASKS = {
    "weather": ("weather in {} on {day}?", "how will the weather be in {} on {day}?"),
    "money": ("convert {} {source} to {target}.", "what are {} {source} in {target}?"),
    "messages": ('write "{text}" to {}.', "tell {}: {text}."),
}
UNSEEN_TASKS = {
    "weather": ("{}: rain on {day}?",),
    "money": ("change {} {source} into {target}.",),
    "messages": ('{} must hear "{text}".',),
}


def agent(draw: Draw) -> tuple[str, list[str], list[Call]]:
    """A request that takes several calls of one function, their results, and the calls; the last says that all is done."""
    task, count = draw.one(list(TASKS)), draw.number(2, 3, larger=2)
    day, text, (source, target) = draw.one(WEEKDAYS), draw.one(words.MESSAGES), draw.some(words.CURRENCIES, 2)
    if task == "weather":
        objects: list[Any] = [draw.city() for _ in range(count)]
        made = [as_call("get_weather", {"city": city, "day": day}) for city in objects]
        results = [f"{draw.one(words.WEATHER)}, {draw.rng.randint(-9, 35)}" for _ in objects]
    elif task == "money":
        objects = [draw.price() for _ in range(count)]
        made = [as_call("convert", {"amount": amount, "source": source, "target": target}) for amount in objects]
        results = [f"{draw.price()}" for _ in objects]
    else:
        objects = [draw.full_name() for _ in range(count)]
        made = [as_call("send_message", {"to": name, "text": text}) for name in objects]
        results = ["sent" for _ in objects]
    sentence = draw.wording(TASKS[task], UNSEEN_TASKS[task])
    request = sentence.format(listed(objects), day=day, text=text, source=source, target=target)
    return as_sentence(request), results, [*made, as_call("done", {})]
