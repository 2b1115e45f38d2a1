"""Dates, times and durations of RFC 3339 as regular expressions, exact to the calendar and to the leap second."""

from __future__ import annotations

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


def _leap_seconds() -> tuple[list[str], list[str]]:
    """Local times of the second 23:59:60 UTC, with their offsets: those of the same day, those of the next.

    Offsets in whole quarters of an hour are all that was in use since there are leap seconds; others would make each minute of
    the day a state of its own.
    """
    same, following = [], []
    for hour in range(24):
        for minute in (59, 14, 29, 44):
            ahead = (hour + 1) % 24 if minute == 59 else hour, (minute + 1) % 60
            behind = 23 - hour, 59 - minute
            second = f"{hour:02}:{minute:02}:60{FRACTION}"
            if ahead == (0, 0):
                same.append(rf"{second}(?:[Zz]|[+\-]00:00)")
            else:
                following.append(rf"{second}\+{ahead[0]:02}:{ahead[1]:02}")
                same.append(f"{second}-{behind[0]:02}:{behind[1]:02}")
    return same, following


_SAME_DAY, _NEXT_DAY = ("|".join(times) for times in _leap_seconds())
_ORDINARY = rf"{HOUR}:{MINUTE}:{MINUTE}{FRACTION}(?:[Zz]|[+\-]{HOUR}:{MINUTE})"

TIME = f"{_ORDINARY}|{_SAME_DAY}|{_NEXT_DAY}"
DATE_TIME = (
    f"{DATE}[Tt]{_ORDINARY}|[0-9]{{4}}-(?:06-30|12-31)[Tt](?:{_SAME_DAY})|[0-9]{{4}}-(?:07-01|01-01)[Tt](?:{_NEXT_DAY})"
)

_CLOCK = "(?:[0-9]+S|[0-9]+M(?:[0-9]+S)?|[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?)"
_DAYS = "(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)"
DURATION = f"P(?:{_DAYS}(?:T{_CLOCK})?|T{_CLOCK}|[0-9]+W)"
