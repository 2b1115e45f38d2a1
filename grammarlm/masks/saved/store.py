"""A constraint as bytes: what it was compiled from, to be compiled again.

    data = constraint.to_bytes()
    constraint = gl.Constraint.from_bytes(data, vocab)

States and rows are not included: they are recomputed during decoding, and state numbers mean nothing elsewhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
from numbers import Integral

from grammarlm.errors import GrammarError
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .codec import decode, encode
from .sealed import seal, unreadable, unseal

_MAGIC, _VERSION, _WHAT = b"grammarlm constraint\n", 3, "saved constraint"
_CANONICAL = ("canonical_only", True)


def save(grammar: Grammar, vocab: Vocabulary, limits: Limits, canonical_only: bool) -> bytes:
    settings = tuple((f.name, _plain(getattr(limits, f.name))) for f in dataclasses.fields(limits))
    settings += (_CANONICAL,) if canonical_only else ()
    return seal(_MAGIC, _VERSION, encode((vocab.fingerprint, settings, grammar)))


def load(data: bytes, vocab: Vocabulary) -> tuple[Grammar, Limits, bool]:
    """What to compile, and whether for canonical tokens only.

    GrammarError where the bytes are damaged, or made with another vocabulary.
    """
    value = decode(unseal(_MAGIC, _VERSION, data, _WHAT), _WHAT)
    if not isinstance(value, tuple) or len(value) != 3 or not isinstance(value[2], Grammar):
        raise unreadable(_WHAT, "it is no fingerprint, settings and grammar")
    fingerprint, settings, grammar = value
    if fingerprint != vocab.fingerprint:
        raise GrammarError(
            f"the {_WHAT} was made with another vocabulary ({fingerprint!r:.50}); this one is {vocab.fingerprint}"
        )
    canonical_only = isinstance(settings, tuple) and settings[-1:] == (_CANONICAL,)
    if canonical_only:
        settings = settings[:-1]
    names = [f.name for f in dataclasses.fields(Limits)]
    if not isinstance(settings, tuple) or [p[0] for p in settings if isinstance(p, tuple) and len(p) == 2] != names:
        raise unreadable(_WHAT, "its settings are not those of gl.Limits")
    try:
        return grammar, Limits(**dict(settings)), canonical_only
    except ValueError as error:
        raise unreadable(_WHAT, str(error)) from error


def fingerprint(grammar: Grammar, vocab: Vocabulary, canonical_only: bool) -> bytes:
    """The same for the same grammar and vocabulary, in any process."""
    settings = encode(_CANONICAL) if canonical_only else b""
    return hashlib.blake2b(
        vocab.fingerprint.encode() + encode(grammar, is_brief=True) + settings, digest_size=16
    ).digest()


def _plain(value: float | Integral | None) -> int | float | None:
    """A limit without numpy."""
    if value is None:
        return None
    return int(value) if isinstance(value, Integral) else float(value)
