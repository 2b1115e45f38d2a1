"""Short tasks: sums, lists, and plain sentences that state nothing to write down."""

from collections.abc import Callable
from typing import Any

from training.corpus import words
from training.corpus.draw import Draw, as_sentence, listed

SUMS = ("{} {} {}", "what is {} {} {}?", "{} {} {} =")
UNSEEN_SUMS = ("calculate {} {} {}, please.",)


def arithmetic(draw: Draw) -> tuple[str, str]:
    """A sum or difference of numbers up to 99, or a product of digits; larger: three numbers."""
    operation = draw.one("+-*")
    most = 9 if operation == "*" else 99
    first, second = sorted((draw.rng.randint(1, most) for _ in range(2)), reverse=True)
    value = {"+": first + second, "-": first - second, "*": first * second}[operation]
    said = draw.wording(SUMS, UNSEEN_SUMS).format(first, operation, second)
    if draw.larger:
        third = draw.rng.randint(1, 9)
        return f"{first} {operation} {second} + {third}", str(value + third)
    return as_sentence(said), str(value)


LISTS = ("list {}.", "{} as a list.", "we need {}.", "write down {}.")
UNSEEN_LISTS = ("do not forget {}!",)


def items(draw: Draw) -> tuple[str, list[Any]]:
    """Things that a sentence names, as a list of strings or numbers."""
    kinds: tuple[Callable[[], Any], ...] = (draw.goods, draw.city, draw.full_name, lambda: draw.rng.randint(1, 400))
    one = draw.one(kinds)
    named = [one() for _ in range(draw.number(1, 5, larger=3))]
    return as_sentence(draw.wording(LISTS, UNSEEN_LISTS).format(listed(named))), named


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


def plain(draw: Draw) -> str:
    """One to three sentences."""
    return " ".join(plain_sentence(draw) for _ in range(draw.rng.randint(1, 3)))


def plain_sentence(draw: Draw) -> str:
    animal, other = draw.some(words.ANIMALS, 2)
    return as_sentence(
        draw.one(PLAIN_SENTENCES).format(
            animal=animal,
            other=other,
            adjective=draw.one(words.ADJECTIVES),
            verb=draw.one(words.VERBS),
            scene=draw.one(words.SCENES),
            time=draw.one(words.TIMES_OF_DAY),
            weather=draw.one(words.WEATHER),
            name=draw.full_name(),
            city=draw.city(),
            said=draw.count()[1],
            things=draw.goods(),
        )
    )
