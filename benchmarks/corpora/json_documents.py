"""Free-form JSON documents: records, settings, responses, event logs and geometry, in the layouts that programs write."""

import json
import random

FIRST = [
    "Ada", "Boris", "Chen", "Dalia", "Emil", "Fatima", "Göran", "Hana", "İlker", "Jürgen", "Keiko", "Luís",
    "Mira", "Nils", "Olga", "Priya",
]  # fmt: skip
LAST = [
    "Abel", "Bianchi", "Castro", "Dvořák", "Eriksen", "Fischer", "García", "Haddad", "Ito", "Jansen",
    "Kowalski", "Lindqvist", "Müller", "Novák",
]  # fmt: skip
WORDS = [
    "the", "order", "was", "shipped", "late", "because", "a", "warehouse", "label", "could", "not", "be",
    "read", "and", "nobody", "checked", "it", "twice", "please", "call", "back", "before", "noon",
    "otherwise", "we", "close", "this", "request", "without", "further", "notice", "thank", "you",
]  # fmt: skip
FIELDS = [
    "status", "priority", "region", "channel", "retries", "latency_ms", "owner", "labels", "enabled", "threshold",
    "version", "checksum", "note",
]  # fmt: skip
ODD = ['a "quoted" word', "tab\there", "line\nbreak", "back\\slash", "snow ☃", "日本語", "emoji 🙂", "naïve café", ""]


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(3, 12))).capitalize() + rng.choice(".!?")


def scalar(rng: random.Random):
    return rng.choice(
        (
            lambda: rng.randint(-5, 100_000),
            lambda: round(rng.uniform(-1000, 1000), rng.randint(1, 6)),
            lambda: rng.random() * 10.0 ** rng.randint(-30, 30),
            lambda: rng.random() < 0.5,
            lambda: None,
            lambda: rng.choice(ODD),
            lambda: sentence(rng),
            lambda: f"{rng.getrandbits(64):016x}",
            lambda: (
                f"20{rng.randint(10, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T08:{rng.randint(10, 59)}:00Z"
            ),
        )
    )()


def person(rng: random.Random) -> dict:
    first, last = rng.choice(FIRST), rng.choice(LAST)
    found = {
        "id": rng.randint(1, 10**7),
        "name": f"{first} {last}",
        "email": f"{first}.{last}@example.org".lower(),
        "age": rng.randint(18, 90),
        "active": rng.random() < 0.8,
        "tags": rng.sample(WORDS, rng.randint(0, 4)),
        "address": {"street": f"{rng.randint(1, 200)} {rng.choice(LAST)} Street", "zip": f"{rng.randint(0, 99999):05}"},
    }
    if rng.random() < 0.3:
        found["manager"] = None
    return found


def settings(rng: random.Random, depth: int = 3) -> dict:
    found = {}
    for field in rng.sample(FIELDS, rng.randint(2, 6)):
        found[field] = settings(rng, depth - 1) if depth and rng.random() < 0.3 else scalar(rng)
    return found


def event(rng: random.Random) -> dict:
    level = rng.choice(("debug", "info", "warning", "error"))
    return {
        "time": 1_700_000_000 + rng.randint(0, 10**7),
        "level": level,
        "message": sentence(rng),
        "context": settings(rng, 1),
    }


def feature(rng: random.Random) -> dict:
    points = [[round(rng.uniform(-180, 180), 6), round(rng.uniform(-90, 90), 6)] for _ in range(rng.randint(1, 9))]
    geometry = {"type": "LineString", "coordinates": points}
    return {"type": "Feature", "geometry": geometry, "properties": {"name": rng.choice(LAST), "height": scalar(rng)}}


def text(rng: random.Random, size: int) -> str:
    """A document of about `size` characters."""
    make = rng.choice((person, settings, event, feature))
    layout = rng.choice(({"separators": (",", ":")}, {}, {"indent": 2}, {"indent": 4, "ensure_ascii": False}))
    items: list[dict] = []
    length = 0
    while length < size:
        items.append(make(rng))
        length += len(json.dumps(items[-1], **layout))
    head = {"total": len(items), "next": None, "items": items}
    return json.dumps(head if rng.random() < 0.7 else items, **layout)
