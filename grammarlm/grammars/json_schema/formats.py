"""Formats as languages, from the documents that JSON Schema names for them.

    date, time, date-time       RFC 3339; the calendar is exact; second :60 where it is 23:59 UTC (in a date-time: on 30 June or
                                31 December) and the offset is in whole quarters of an hour
    duration                    RFC 3339, appendix A
    email, idn-email            RFC 5321 and 6531, Mailbox; labels of an international domain: letters, marks, digits, hyphens
    hostname                    RFC 1123, at most 253 characters; no label in Punycode (`xn--...`), which no automaton can check
    ipv4, ipv6                  RFC 2673 and 4291; no leading zeros in decimal, no zone
    uri, uri-reference          RFC 3986
    iri, iri-reference          RFC 3987
    uri-template                RFC 6570
    uuid                        RFC 4122, any version
    json-pointer, relative-     RFC 6901 and draft-handrews-relative-json-pointer-01
    regex                       ECMA-262 in its strict syntax, within limits: see regex_format.py
    idn-hostname                refused by name

All other formats are annotations: every string has them. A format is parsed, and its states are found, once a process: its terms
belong to an algebra of their own, in which those of the schemas look them up.
"""

from __future__ import annotations

from ...errors import UnsupportedFeature
from ..regex_syntax import parse_regex
from ..regular import Algebra
from ..terms import Term
from . import dates, internet
from .regex_format import regex_term
from .text_algebra import SharedAlgebra, every_string

LABELS = "labels of a hostname"  # a hostname, however long: no name of a format that a schema could ask for

_EXPRESSIONS = {
    "date": dates.DATE,
    "duration": dates.DURATION,
    "email": internet.EMAIL,
    "idn-email": internet.IDN_EMAIL,
    "ipv4": internet.IPV4,
    "ipv6": internet.IPV6,
    "uri": internet.URI,
    "uri-reference": internet.URI_REFERENCE,
    "iri": internet.IRI,
    "iri-reference": internet.IRI_REFERENCE,
    "uri-template": internet.URI_TEMPLATE,
    "uuid": internet.UUID,
    "json-pointer": internet.JSON_POINTER,
    "relative-json-pointer": internet.RELATIVE_JSON_POINTER,
    LABELS: internet.LABELS,
    "hostname": f"(?=.{{1,{internet.LONGEST_HOSTNAME}}}$){internet.LABELS}",
}

_BUILT = {"time": dates.time_term, "date-time": dates.date_time_term, "regex": regex_term}

REFUSED = {
    "idn-hostname": "how long its labels are in Punycode is no regular property",
}

FORMATS = frozenset(_EXPRESSIONS) - {LABELS} | frozenset(_BUILT) | frozenset(REFUSED)  # all others are annotations

SOUND = FORMATS - set(REFUSED) | {LABELS}  # each of them some string has

SHARED = SharedAlgebra()
_known: dict[str, Term] = {}


def format_term(name: str, algebra: Algebra) -> Term:
    """The strings that have the format; any string, where it is an annotation."""
    term = _known.get(name)
    if term is None:
        if name in REFUSED:
            raise UnsupportedFeature(
                f"format {name!r} cannot be enforced: {REFUSED[name]}; use a pattern, or formats='annotation'"
            )
        if name not in FORMATS and name != LABELS:
            return every_string(algebra)
        term = _BUILT[name](SHARED) if name in _BUILT else parse_regex(_EXPRESSIONS[name], SHARED)
        _known[name] = SHARED.own(term)
    return term
