"""Records: a sentence or two of English, and the same facts as an object.

    Ada Turing, a writer of 36, lives in London. Phone 555-1234.
    {"name":"Ada Turing","age":36,"city":"London","job":"writer","phone":"555-1234"}

Each kind has one fixed order of keys; facts that the sentence does not state have no key. Most values are copied verbatim;
number words, dates and `paid` have to be rewritten.
"""

from collections.abc import Callable
from typing import Any

from training.corpus import words
from training.corpus.draw import Draw, as_sentence, listed, with_article

Record = dict[str, Any]

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
UNSEEN_PERSON_SENTENCES = (
    "say hello to {name}, who turned {age} in {city} and earns a living as {a_job}.",
    "{a_job} by trade, {name} of {city} is {age} today.",
    "people in {city} know the {job} {name}, now {age}.",
)


def person(draw: Draw) -> tuple[str, Record]:
    name, job = draw.full_name(), draw.one(words.JOBS)
    record: Record = {"name": name, "age": draw.rng.randint(18, 99), "city": draw.city(), "job": job}
    sentence = draw.wording(PERSON_SENTENCES, UNSEEN_PERSON_SENTENCES).format(**record, a_job=with_article(job))
    if draw.maybe(0.25):
        record["email"] = draw.email(name)
        sentence += draw.wording((" Email: {}.", " Write to {}."), (" Mail goes to {}.",)).format(record["email"])
    if draw.maybe(0.25):
        record["phone"] = draw.phone()
        sentence += draw.wording((" Phone {}.", " Call {}."), (" Dial {}.",)).format(record["phone"])
    if draw.larger or draw.maybe(0.25):
        record["languages"] = draw.some(words.LANGUAGES, draw.number(1, 3, larger=2))
        sentence += draw.wording((" Speaks {}.", " Languages: {}."), (" Knows {}.",)).format(
            listed(record["languages"])
        )
    return sentence, record


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
UNSEEN_ORDER_SENTENCES = (
    "pack {said} {item} for {customer}: {price} {currency} apiece, and the customer {payment}.",
    "in the shop {customer} chose {said} {item} worth {price} {currency} and {payment}.",
    "{price} {currency} is what {customer}, who {payment}, was asked for {said} {item}.",
)
PAYMENTS = {
    True: ("has paid", "paid at once", "has already paid", "paid in cash"),
    False: ("has not paid", "will pay later", "still has to pay", "did not pay yet"),
}


def order(draw: Draw) -> tuple[str, Record]:
    quantity, said = draw.count()
    paid = draw.maybe(0.5)
    record = {
        "customer": draw.full_name(),
        "item": draw.goods(),
        "quantity": quantity,
        "price": draw.price(),
        "paid": paid,
    }
    facts = {"said": said, "currency": draw.one(words.CURRENCIES), "payment": draw.one(PAYMENTS[paid])}
    return draw.wording(ORDER_SENTENCES, UNSEEN_ORDER_SENTENCES).format(**record, **facts), record


BASKET_SENTENCES = (
    "{customer} bought {items} and {payment}.",
    "the basket of {customer}, who {payment}: {items}.",
    "{customer} {payment} for {items}.",
    "send {items} to {customer}, who {payment}.",
)
UNSEEN_BASKET_SENTENCES = (
    "on the counter of {customer}, who {payment}, lie {items}.",
    "{items} go to {customer}, who {payment}.",
)


def basket(draw: Draw) -> tuple[str, Record]:
    """Several things of one customer: objects in a list."""
    items, said_items = [], []
    for _ in range(draw.number(1, 3, larger=2)):
        quantity, said = draw.count()
        items.append({"item": draw.goods(), "quantity": quantity, "price": draw.price()})
        said_items.append("{} {} at {}".format(said, *(items[-1][key] for key in ("item", "price"))))
    record: Record = {"customer": draw.full_name(), "items": items, "paid": draw.maybe(0.5)}
    facts = {"customer": record["customer"], "items": listed(said_items), "payment": draw.one(PAYMENTS[record["paid"]])}
    sentence = draw.wording(BASKET_SENTENCES, UNSEEN_BASKET_SENTENCES).format(**facts)
    if draw.maybe(0.3):
        record["delivery"], said = draw.date()
        sentence += draw.wording((" Delivery on {}.", " To arrive on {}."), (" Due {}.",)).format(said)
    return sentence, record


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
UNSEEN_EVENT_SENTENCES = (
    "mark {said} in red: {place}, {time}, the {title}.",
    "doors of {place} open at {time} for the {title} of {said}.",
    "who comes to the {title}? It is in {place}, {said}, {time} sharp.",
)


def event(draw: Draw) -> tuple[str, Record]:
    first = draw.coined() if draw.maybe(0.5) else draw.one(words.EVENT_THEMES)
    iso, said = draw.date()
    title = f"{first} {draw.one(words.EVENT_KINDS)}"
    record: Record = {"title": title, "date": iso, "time": draw.clock(), "place": draw.venue()}
    sentence = draw.wording(EVENT_SENTENCES, UNSEEN_EVENT_SENTENCES).format(**record, said=said)
    if draw.larger or draw.maybe(0.3):
        record["speakers"] = [draw.full_name() for _ in range(draw.number(1, 2, larger=2))]
        sentence += draw.wording((" With {}.", " Speakers: {}."), (" On stage: {}.",)).format(
            listed(record["speakers"])
        )
    return sentence, record


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
UNSEEN_ADDRESS_SENTENCES = (
    "in {city} ({postcode}) ring at {street} {number}.",
    "{reader} sleeps at {street} {number}; the town is {city}, code {postcode}.",
    "{postcode} {city} is where {street} {number} stands.",
)


def address(draw: Draw) -> tuple[str, Record]:
    street = f"{draw.coined()} {draw.one(words.STREET_KINDS)}"
    record = {"street": street, "number": draw.rng.randint(1, 250), "postcode": draw.postcode(), "city": draw.city()}
    sentence = draw.wording(ADDRESS_SENTENCES, UNSEEN_ADDRESS_SENTENCES).format(**record, reader=draw.full_name())
    return sentence, record


PRODUCT_SENTENCES = (
    "{name} by {maker}: {measures}.",
    "{maker} sells {name} with {measures}.",
    "the {name} of {maker} have {measures}.",
    "new from {maker}: {name}, {measures}.",
)
UNSEEN_PRODUCT_SENTENCES = (
    "look at these {name}, made by {maker}: {measures}!",
    "{measures}: that is what {maker} says of its {name}.",
)


def product(draw: Draw) -> tuple[str, Record]:
    """Numbers with units, each an object."""
    record: Record = {"name": draw.goods(), "maker": draw.coined()}
    said = []
    for measure in sorted(draw.some(list(words.UNITS), 3 if draw.larger else draw.rng.randint(1, 2))):
        record[measure] = {"value": draw.price(), "unit": draw.one(words.UNITS[measure])}
        said.append(f"{measure} {record[measure]['value']} {record[measure]['unit']}")
    facts = {"name": record["name"], "maker": record["maker"], "measures": listed(said)}
    return draw.wording(PRODUCT_SENTENCES, UNSEEN_PRODUCT_SENTENCES).format(**facts), record


RECORDS: dict[str, Callable[[Draw], tuple[str, Record]]] = {
    "person": person,
    "order": order,
    "basket": basket,
    "event": event,
    "address": address,
    "product": product,
}


def drawn_record(draw: Draw, kind: str) -> tuple[str, Record]:
    """A sentence that begins with a capital, and its record."""
    sentence, record = RECORDS[kind](draw)
    return as_sentence(sentence), record
