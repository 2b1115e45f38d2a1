"""The training text of the embedded models: sentences, and the record that each sentence states.

An example is one line of English, a newline, and the same facts as compact JSON:

    Ada Turing, a writer of 36, lives in London.
    {"name":"Ada Turing","age":36,"city":"London","job":"writer"}

The prompt is the sentence with its newline; the model writes the record and the end token. Five kinds of record exist
(`RECORDS`), each with one fixed order of keys, plus plain sentences without a record, which end after their full stop.
Most values are copied from the sentence verbatim; number words, dates and the order's `paid` have to be rewritten.

Every example is a function of (split, index) alone: a training run that stops can go on from any index, and the splits
"train" and "heldout" draw from separate random streams.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from grammarlm.models import words

Record = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """One text: `prompt` is the input, `answer` what the model should write (empty for plain sentences)."""

    kind: str
    prompt: str
    answer: str


def example(split: str, index: int, kind: str | None = None) -> Example:
    """Example number `index` of a split; its kind is drawn, too, unless given."""
    rng = Random(f"{split}:{kind}:{index}")
    kind = kind or rng.choice(KINDS)
    if kind == "plain":
        return Example(kind, plain(rng), "")
    sentence, record = RECORDS[kind](rng)
    return Example(kind, sentence[0].upper() + sentence[1:] + "\n", to_json(record))


def to_json(record: Record) -> str:
    """The style of every record: no spaces, keys in the order of the kind, no escapes of non-ASCII characters."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def coined(rng: Random) -> str:
    """A capitalised invented name: some 100 000 different ones, made of syllables."""
    middle = rng.choice(words.SYLLABLE_MIDDLES) if rng.random() < 0.4 else ""
    return rng.choice(words.SYLLABLE_STARTS) + middle + rng.choice(words.SYLLABLE_ENDINGS)


def known_or_coined(rng: Random, known: list[str]) -> str:
    return rng.choice(known) if rng.random() < 0.5 else coined(rng)


def full_name(rng: Random) -> str:
    return f"{known_or_coined(rng, words.GIVEN_NAMES)} {known_or_coined(rng, words.SURNAMES)}"


def city(rng: Random) -> str:
    return known_or_coined(rng, words.CITIES)


def venue(rng: Random) -> str:
    return f"{coined(rng)} {rng.choice(words.VENUE_KINDS)}"


def goods(rng: Random) -> str:
    """A thing in the plural, mostly with an adjective."""
    adjectives = rng.choice(([""], words.COLOURS, words.MATERIALS))
    return f"{rng.choice(adjectives)} {rng.choice(words.THINGS)}".strip()


def count(rng: Random) -> tuple[int, str]:
    """A number and how the sentence writes it: small ones often in words."""
    number = rng.randint(2, 12) if rng.random() < 0.6 else rng.randint(13, 200)
    in_words = number <= len(words.NUMBER_WORDS) and rng.random() < 0.6
    return number, words.NUMBER_WORDS[number - 1] if in_words else str(number)


def price(rng: Random) -> float | int:
    """A whole number, or two decimals whose last is not 0: then the JSON number reads like the sentence."""
    whole = rng.randint(1, 400)
    return whole if rng.random() < 0.5 else float(f"{whole}.{rng.randint(0, 9)}{rng.randint(1, 9)}")


def date(rng: Random) -> tuple[str, str]:
    """An ISO date, and how a sentence writes it, one of three ways."""
    year, month, day = rng.randint(2000, 2039), rng.randint(1, 12), rng.randint(1, 28)
    iso, name = f"{year}-{month:02}-{day:02}", words.MONTHS[month - 1]
    return iso, rng.choice((iso, f"{day} {name} {year}", f"{name} {day}, {year}"))


def clock(rng: Random) -> str:
    return f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}"


def postcode(rng: Random) -> str:
    if rng.random() < 0.6:
        return f"{rng.randint(10000, 99999)}"
    first, second, third, fourth = (rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(4))
    return f"{first}{second}{rng.randint(1, 99)} {rng.randint(1, 9)}{third}{fourth}"


def with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


PERSON_SENTENCES = (
    "{name}, {a_job} of {age}, lives in {city}.",
    "{name} is {age} years old and works as {a_job} in {city}.",
    "{name} ({age}) is {a_job} from {city}.",
    "at {age}, {name} moved to {city} to work as {a_job}.",
    "our new {job} is called {name}, is {age} and comes from {city}.",
    "in {city} there is {a_job} named {name}, aged {age}.",
    "meet {name}, {age}, {a_job} in {city}.",
    "the {age}-year-old {job} {name} was born in {city}.",
    "{city} has a new {job}: {name}, {age} years old.",
    "I am {name}, I am {age}, and I have been {a_job} in {city} for years.",
)


def person(rng: Random) -> tuple[str, Record]:
    name, age, home, job = full_name(rng), rng.randint(18, 99), city(rng), rng.choice(words.JOBS)
    record: Record = {"name": name, "age": age, "city": home, "job": job}
    return rng.choice(PERSON_SENTENCES).format(**record, a_job=with_article(job)), record


ORDER_SENTENCES = (
    "{customer} ordered {said} {item} at {price} {currency} each and {payment}.",
    "{customer} wants {said} {item} for {price} {currency} and {payment}.",
    "an order of {said} {item} for {customer}, {price} {currency}, who {payment}.",
    "please send {said} {item} to {customer}, who {payment}; the price is {price} {currency}.",
    "{said} {item} at {price} {currency} were bought by {customer}, who {payment}.",
    "for {price} {currency}, {customer} gets {said} {item} and {payment}.",
    "{customer} {payment}: {said} {item}, {price} {currency}.",
    "we sold {said} {item} to {customer} for {price} {currency}; the customer {payment}.",
)
PAYMENTS = {
    True: ("has paid", "paid at once", "has already paid", "paid in cash"),
    False: ("has not paid", "will pay later", "still has to pay", "did not pay yet"),
}


def order(rng: Random) -> tuple[str, Record]:
    quantity, said = count(rng)
    paid = rng.random() < 0.5
    record = {"customer": full_name(rng), "item": goods(rng), "quantity": quantity, "price": price(rng), "paid": paid}
    facts = {"said": said, "currency": rng.choice(words.CURRENCIES), "payment": rng.choice(PAYMENTS[paid])}
    return rng.choice(ORDER_SENTENCES).format(**record, **facts), record


EVENT_SENTENCES = (
    "the {title} takes place on {said} at {time} in {place}.",
    "on {said} at {time} the {title} opens in {place}.",
    "come to {place} on {said}: the {title} starts at {time}.",
    "the {title} is on {said}, {time}, at {place}.",
    "{place} hosts the {title} on {said} from {time}.",
    "do not miss the {title} at {place}, {said}, {time}.",
    "at {time} on {said}, {place} welcomes the {title}.",
    "the next {title} begins at {time} in {place} on {said}.",
)


def event(rng: Random) -> tuple[str, Record]:
    first = coined(rng) if rng.random() < 0.5 else rng.choice(words.EVENT_THEMES)
    iso, said = date(rng)
    record = {"title": f"{first} {rng.choice(words.EVENT_KINDS)}", "date": iso, "time": clock(rng), "place": venue(rng)}
    return rng.choice(EVENT_SENTENCES).format(**record, said=said), record


ADDRESS_SENTENCES = (
    "write to {number} {street}, {postcode} {city}.",
    "{reader} lives at {number} {street}, {city} {postcode}.",
    "the parcel goes to {street} {number}, {postcode} {city}.",
    "the office in {city} is at {number} {street}, postcode {postcode}.",
    "{reader} has moved to {street} {number} in {city}, {postcode}.",
    "you will find the shop in {city}, {street} {number} ({postcode}).",
    "send the bill to {reader}, {number} {street}, {city}, {postcode}.",
    "our new address: {street} {number}, {city}, postcode {postcode}.",
)


def address(rng: Random) -> tuple[str, Record]:
    street = f"{coined(rng)} {rng.choice(words.STREET_KINDS)}"
    record = {"street": street, "number": rng.randint(1, 250), "postcode": postcode(rng), "city": city(rng)}
    return rng.choice(ADDRESS_SENTENCES).format(**record, reader=full_name(rng)), record


CALL_SENTENCES = {
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
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def call(rng: Random) -> tuple[str, Record]:
    """A request in words, and the function call that answers it."""
    source, target = rng.sample(words.CURRENCIES, 2)
    known: dict[str, Callable[[], Record]] = {
        "send_message": lambda: {"to": full_name(rng), "text": rng.choice(words.MESSAGES)},
        "set_alarm": lambda: {"time": clock(rng), "day": rng.choice(WEEKDAYS)},
        "set_timer": lambda: {"minutes": rng.randint(2, 240)},
        "convert": lambda: {"amount": price(rng), "source": source, "target": target},
        "get_weather": lambda: {"city": city(rng), "day": rng.choice(WEEKDAYS)},
        "book_table": lambda: {"place": venue(rng), "guests": rng.randint(2, 30), "time": clock(rng)},
    }
    function = rng.choice(list(known))
    arguments = known[function]()
    return rng.choice(CALL_SENTENCES[function]).format(**arguments), {"function": function, "arguments": arguments}


RECORDS: dict[str, Callable[[Random], tuple[str, Record]]] = {
    "person": person,
    "order": order,
    "event": event,
    "address": address,
    "call": call,
}
KINDS = (*RECORDS, "plain")


PLAIN_SENTENCES = (
    "the {adjective} {animal} {verb} the {scene}.",
    "{name} {verb} a {adjective} {scene} near {city}.",
    "in the {time} the {scene} was {adjective} and {weather}.",
    "it was a {weather} {time} in {city}.",
    "the {animal} and the {other} {verb} the {adjective} {scene}.",
    "{name} had {said} {things} and a {adjective} {animal}.",
    "behind the {scene} there was a {adjective} {animal}.",
    "nobody in {city} {verb} the {animal}.",
)


def plain(rng: Random) -> str:
    """One to three sentences that state no record."""
    return " ".join(plain_sentence(rng) for _ in range(rng.randint(1, 3)))


def plain_sentence(rng: Random) -> str:
    animal, other = rng.sample(words.ANIMALS, 2)
    sentence = rng.choice(PLAIN_SENTENCES).format(
        animal=animal,
        other=other,
        adjective=rng.choice(words.ADJECTIVES),
        verb=rng.choice(words.VERBS),
        scene=rng.choice(words.SCENES),
        time=rng.choice(words.TIMES_OF_DAY),
        weather=rng.choice(words.WEATHER),
        name=full_name(rng),
        city=city(rng),
        said=count(rng)[1],
        things=goods(rng),
    )
    return sentence[0].upper() + sentence[1:]
