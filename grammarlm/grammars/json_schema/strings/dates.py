"""Dates, times and durations of RFC 3339, exact to the calendar and to the leap second."""

from __future__ import annotations

from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.syntax import parse_regex
from grammarlm.grammars.regular.terms import Term

HOUR = "(?:[01][0-9]|2[0-3])"
MINUTE = "[0-5][0-9]"
FRACTION = r"(?:\.[0-9]+)?"

_MONTHS = (
    "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])",
    "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)",
    "02-(?:0[1-9]|1[0-9]|2[0-8])",
)
_LEAP_YEAR = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
DATE = f"(?:[0-9]{{4}}-(?:{'|'.join(_MONTHS)})|{_LEAP_YEAR}-02-29)"


ORDINARY = rf"{HOUR}:{MINUTE}:{MINUTE}{FRACTION}(?:[Zz]|[+\-]{HOUR}:{MINUTE})"


def time_term(algebra: Algebra) -> Term:
    return algebra.alt([parse_regex(ORDINARY, algebra), *_leap_seconds(algebra)])


def date_time_term(algebra: Algebra) -> Term:
    same_day, next_day = _leap_seconds(algebra)
    year, between = parse_regex("[0-9]{4}-", algebra), parse_regex("[Tt]", algebra)
    return algebra.alt(
        [
            algebra.sequence([parse_regex(DATE, algebra), between, parse_regex(ORDINARY, algebra)]),
            algebra.sequence([year, algebra.words([b"06-30", b"12-31"]), between, same_day]),
            algebra.sequence([year, algebra.words([b"07-01", b"01-01"]), between, next_day]),
        ]
    )


def _leap_seconds(algebra: Algebra) -> tuple[Term, Term]:
    """Local times of the second 23:59:60 UTC, with their offsets: those of the same day, those of the next.

    Only offsets in whole quarters of an hour: no others were in use since leap seconds exist, and they would make each minute of
    the day a state of its own.
    """
    fraction = parse_regex(FRACTION, algebra)
    same, following = [], []
    for hour in range(24):
        for minute in (59, 14, 29, 44):
            second = algebra.word(f"{hour:02}:{minute:02}:60".encode())
            east = f"+{(hour + (minute == 59)) % 24:02}:{(minute + 1) % 60:02}".encode()
            west = f"-{23 - hour:02}:{59 - minute:02}".encode()
            if east == b"+00:00":
                same.append(algebra.sequence([second, fraction, algebra.words([b"Z", b"z", east, west])]))
            else:
                same.append(algebra.sequence([second, fraction, algebra.word(west)]))
                following.append(algebra.sequence([second, fraction, algebra.word(east)]))
    return algebra.alt(same), algebra.alt(following)


_CLOCK = "(?:[0-9]+S|[0-9]+M(?:[0-9]+S)?|[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?)"
_DAYS = "(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)"
DURATION = f"P(?:{_DAYS}(?:T{_CLOCK})?|T{_CLOCK}|[0-9]+W)"
