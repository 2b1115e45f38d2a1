"""Draws of the values that the texts are made of, and of what makes a text of the hard split hard."""

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from training.corpus import words

One = TypeVar("One")
# What a text of the hard split has one of, and how often each of its names, wordings or lists is so.
HARDSHIPS = {"foreign": 0.35, "unseen": 0.65, "larger": 0.6}


class Draw:
    """Values of one text. A text of the split "hard" is open to one of three hardships, of which no training text has any.

    foreign: a name of pieces that no training text has;
    unseen: a wording that no training text has;
    larger: more items, turns or changes than any training text.
    """

    def __init__(self, split: str, seed: str):
        self.rng = Random(f"{split}:{seed}")
        self.hardship = self.rng.choice(list(HARDSHIPS)) if split == "hard" else ""

    def _is(self, hardship: str) -> bool:
        return hardship == self.hardship and self.maybe(HARDSHIPS[hardship])

    @property
    def larger(self) -> bool:
        return self._is("larger")

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    def one(self, options: Sequence[One]) -> One:
        return self.rng.choice(options)

    def some(self, options: Sequence[One], number: int) -> list[One]:
        return self.rng.sample(options, number)

    def wording(self, seen: Sequence[One], unseen: Sequence[One]) -> One:
        return self.rng.choice(unseen if self._is("unseen") else seen)

    def number(self, least: int, most: int, larger: int) -> int:
        """How many of something: `least` to `most`, or up to `larger` more than `most` where the text is larger."""
        return self.rng.randint(most + 1, most + larger) if self.larger else self.rng.randint(least, most)

    def coined(self) -> str:
        """A capitalised invented name: mostly one of some 100 000 made of syllables, else of letters as they come."""
        if self._is("foreign"):
            return self.one(words.FOREIGN_STARTS) + self.one(words.FOREIGN_ENDINGS)
        if self.maybe(0.15):
            return "".join(
                self.one(words.CONSONANTS) + self.one("aeiouy") for _ in range(self.rng.randint(2, 4))
            ).capitalize()
        middle = self.one(words.SYLLABLE_MIDDLES) if self.maybe(0.4) else ""
        return self.one(words.SYLLABLE_STARTS) + middle + self.one(words.SYLLABLE_ENDINGS)

    def name_of(self, known: list[str], foreign: list[str]) -> str:
        if self._is("foreign"):
            return self.one(foreign)
        return self.one(known) if self.maybe(0.5) else self.coined()

    def full_name(self) -> str:
        given = self.name_of(words.GIVEN_NAMES, words.FOREIGN_GIVEN_NAMES)
        return f"{given} {self.name_of(words.SURNAMES, words.FOREIGN_SURNAMES)}"

    def city(self) -> str:
        return self.name_of(words.CITIES, words.FOREIGN_CITIES)

    def venue(self) -> str:
        return f"{self.coined()} {self.one(words.VENUE_KINDS)}"

    def goods(self) -> str:
        """A thing in the plural, mostly with an adjective."""
        adjectives = self.one(([""], words.COLOURS, words.MATERIALS))
        return f"{self.one(adjectives)} {self.one(words.THINGS)}".strip()

    def count(self) -> tuple[int, str]:
        """A number and how the sentence writes it: small ones often in words."""
        number = self.rng.randint(2, 12) if self.maybe(0.6) else self.rng.randint(13, 200)
        in_words = number <= len(words.NUMBER_WORDS) and self.maybe(0.6)
        return number, words.NUMBER_WORDS[number - 1] if in_words else str(number)

    def price(self) -> float | int:
        """A whole number, or two decimals whose last is not 0: then the JSON number reads like the sentence."""
        whole = self.rng.randint(1, 400)
        return whole if self.maybe(0.5) else float(f"{whole}.{self.rng.randint(0, 9)}{self.rng.randint(1, 9)}")

    def date(self) -> tuple[str, str]:
        """An ISO date, and how a sentence writes it, one of three ways."""
        year, month, day = self.rng.randint(2000, 2039), self.rng.randint(1, 12), self.rng.randint(1, 28)
        iso, name = f"{year}-{month:02}-{day:02}", words.MONTHS[month - 1]
        return iso, self.one((iso, f"{day} {name} {year}", f"{name} {day}, {year}"))

    def clock(self) -> str:
        return f"{self.rng.randint(0, 23):02}:{self.rng.randint(0, 59):02}"

    def postcode(self) -> str:
        if self.maybe(0.6):
            return f"{self.rng.randint(10000, 99999)}"
        first, second, third, fourth = (self.one("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(4))
        return f"{first}{second}{self.rng.randint(1, 99)} {self.rng.randint(1, 9)}{third}{fourth}"

    def phone(self) -> str:
        return f"{self.rng.randint(200, 999)}-{self.rng.randint(1000, 9999)}"

    def email(self, name: str) -> str:
        return f"{name.split()[self.rng.randint(0, 1)].lower()}{self.rng.randint(1, 99)}@{self.one(words.MAIL_HOSTS)}"


def with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def listed(items: Sequence[Any]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last


def as_sentence(text: str) -> str:
    return text[0].upper() + text[1:]
