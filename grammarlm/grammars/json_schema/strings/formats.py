"""Formats as languages, from the documents that JSON Schema names for them: CHECKED says what each requires of a string.

All other formats are annotations, which every string satisfies. KNOWN has those that others define, with a remark. The formats of
all drafts count, whatever `$schema` says. A format is parsed, and its states are computed, once per process: its terms belong to a
shared algebra, in which the schemas' algebras look them up.
"""

from __future__ import annotations

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.grammars.regular.terms import Term

from . import dates, internet
from .regex_format import regex_term
from .text_algebra import SharedAlgebra, every_string

LABELS = "labels of a hostname"  # a hostname of any length; not a format name that a schema could use

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

_BUILT = {
    "time": dates.time_term,
    "date-time": dates.date_time_term,
    "regex": regex_term,
}
# Formats whose language has fewer strings than it should: what is outside may still have the format.
INCOMPLETE = frozenset(["regex"])

REFUSED = {"idn-hostname": "how long its labels are in Punycode is no regular property"}

# What each requires, in a sentence; other requirements of the named document are not checked.
CHECKED = {
    "date": "RFC 3339 full-date; the calendar is exact, the year 0000 included",
    "time": "RFC 3339 full-time; second 60 only where UTC has 23:59, with offsets in whole quarters of an hour",
    "date-time": "RFC 3339 date-time; second 60 only where UTC has 23:59 on 30 June or 31 December, with offsets in whole "
    "quarters of an hour",
    "duration": "RFC 3339 appendix A: whole numbers, units in order and none left out between two, weeks alone",
    "email": "RFC 5321 Mailbox without comments; lengths are not checked, nor what an xn-- label of the domain decodes to",
    "idn-email": "RFC 6531 Mailbox; labels are letters, digits, inner hyphens and marks; lengths and the other rules of IDNA "
    "are not checked",
    "hostname": "RFC 1123: labels of 1 to 63 letters, digits and inner hyphens, at most 253 characters, no dot at the end; "
    "xn-- labels: this syntax, the decoded text is not checked",
    "ipv4": "RFC 2673: four decimal octets without leading zeros",
    "ipv6": "RFC 4291 section 2.2, without a zone; an IPv4 address at the end has no leading zeros",
    "uri": "RFC 3986 URI; no rules of single schemes",
    "uri-reference": "RFC 3986 URI-reference; no rules of single schemes",
    "iri": "RFC 3987 IRI; no rules of single schemes, no rules for text from right to left",
    "iri-reference": "RFC 3987 IRI-reference; no rules of single schemes, no rules for text from right to left",
    "uri-template": "RFC 6570, all four levels; the reserved operators = , ! @ | too",
    "uuid": "RFC 4122: 8-4-4-4-12 hexadecimal digits, any version and variant",
    "json-pointer": "RFC 6901 as a string, not as a fragment of a URI",
    "relative-json-pointer": "draft-handrews-relative-json-pointer-01, without the index manipulation of later drafts",
    "regex": "ECMA-262, strict syntax with and without u; fewer than that: no named groups, no back-references, groups at most "
    "8 deep, look-arounds outside of groups or in one and groups at most 2 deep in them, numbers of at most three digits in {n,m}, "
    "ranges in a class and properties within limits; refused below `not`",
}

# Formats that others define, and that are ignored here: OpenAPI's registry, and draft 3.
KNOWN = {
    **dict.fromkeys(
        ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "double-int"),
        "OpenAPI's, a hint: no range is checked; say minimum and maximum",
    ),
    **dict.fromkeys(("float", "double", "decimal", "decimal128"), "OpenAPI's, a hint: precision is not checked"),
    **dict.fromkeys(
        ("byte", "binary", "base64url", "char", "commonmark", "html", "media-range", "password", "sf-binary", "sf-boolean",
         "sf-decimal", "sf-integer", "sf-string", "sf-token", "http-date"),
        "OpenAPI's, a hint: the text is not checked; say a pattern",
    ),
}  # fmt: skip

FORMATS = frozenset([*_EXPRESSIONS, *_BUILT, *REFUSED]) - {LABELS}  # all others are annotations

SOUND = FORMATS - set(REFUSED) | {LABELS}  # those that some string satisfies

SHARED = SharedAlgebra()
_known: dict[str, Term] = {}


def format_term(name: str, algebra: Algebra) -> Term:
    """The strings that have the format; every string, if it is an annotation."""
    term = _known.get(name)
    if term is None:
        if name in REFUSED:
            raise UnsupportedFeature(
                f"format {name!r} cannot be enforced: {REFUSED[name]}; use a pattern, or formats='annotation'"
            )
        if name not in _EXPRESSIONS and name not in _BUILT:
            return every_string(algebra)
        term = _BUILT[name](SHARED) if name in _BUILT else parse_regex(_EXPRESSIONS[name], SHARED)
        _known[name] = SHARED.own(term)
    return term
