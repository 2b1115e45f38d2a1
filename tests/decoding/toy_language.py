"""A language model of three tokens and languages over it that can be listed: the exact law beside what samplers make of it."""

import itertools
import math

import numpy as np

from grammarlm.published.methods.particles import Extension
from grammarlm.published.methods.rejection import NO_TOKEN, Rejection

from .enumeration import enumerated_race

A, B, STOP = 0, 1, 2
LONGEST = 3


def next_token(text) -> list[float]:
    """The model: what comes depends on how long the text is, and on its last token. No two beginnings are equally likely."""
    if len(text) == LONGEST:
        return [0.0, 0.0, 1.0]
    last = text[-1] if text else B
    return [[0.6, 0.3, 0.1], [0.15, 0.35, 0.5], [0.28, 0.43, 0.29]][(len(text) + last) % 3]


class Language:
    """Some of the texts of A and B; a token may come iff the text can still become one of them."""

    def __init__(self, members):
        self.members = set(members)
        self.prefixes = {text[:n] for text in self.members for n in range(len(text) + 1)}

    def allows(self, text, token) -> bool:
        return text in self.members if token == STOP else (*text, token) in self.prefixes

    def law(self) -> dict:
        """Of each member the probability that the model writes it and stops."""
        return {
            text: math.prod(next_token(text[:n])[token] for n, token in enumerate((*text, STOP)))
            for text in self.members
        }


LANGUAGES = {
    "a dead end": Language([(A, A, A), (A, A, B), (B,), (B, B, A)]),
    "all": Language(text for n in range(LONGEST + 1) for text in itertools.product((A, B), repeat=n)),
    "one text": Language([(B, A, B)]),
}


def masked_extension(language, text, choose) -> Extension:
    """The mask is known, so the weight is: all that it leaves."""
    allowed = [p if language.allows(text, token) else 0.0 for token, p in enumerate(next_token(text))]
    mass = math.fsum(allowed)
    return extended(text, choose([p / mass for p in allowed]), math.log(mass))


def rejecting_extension(language, text, choices, how: Rejection) -> Extension:
    """Only a predicate is known."""
    questions, answers = how.draw(enumerated_race(next_token(text), choices)), None
    try:
        while True:
            answers = [language.allows(text, token) for token in questions.send(answers)]
    except StopIteration as end:
        return extended(text, end.value.token, end.value.log_weight)


def extended(text, token, log_weight) -> Extension:
    is_over = token in (STOP, NO_TOKEN)
    return Extension(text if is_over else (*text, token), log_weight, is_over)


def offsets(weights):
    """(share, offset) of the pieces of [0, 1) within which systematic resampling does the same."""
    edges = np.unique(np.concatenate([np.mod(np.cumsum(weights) * len(weights), 1), [0.0, 1.0]]))
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-12])]
    return [(high - low, (low + high) / 2) for low, high in itertools.pairwise(edges)]
