"""The strings that values of Python types are read from, as patterns of JSON Schema.

Each is a subset of what pydantic's validator accepts: where a validator is no regular language, or accepts what nobody means (a
date as a number of seconds), the pattern has the usual spellings.
"""

from __future__ import annotations

from collections.abc import Iterable

from grammarlm.grammars.json_schema.strings.dates import DATE, HOUR, MINUTE
from grammarlm.grammars.json_schema.strings.internet import IPV4, IPV6, UUID

WHOLE = "(?:0|[1-9][0-9]{0,17})"  # digits that both int and float keep
REAL = rf"{WHOLE}(?:\.[0-9]{{1,18}})?"


def whole_text(pattern: str) -> str:
    return f"^(?:{pattern})$"


# ---- numbers in strings

COMPLEX = f"-?{REAL}(?:j|[+\\-]{REAL}j)?"
FRACTION_TEXT = f"-?{WHOLE}(?:/[1-9][0-9]{{0,17}})?"
DECIMAL = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
_UNITS = ("b", "kb", "mb", "gb", "tb", "pb", "eb", "kib", "mib", "gib", "tib", "pib", "eib")
BYTE_SIZE = (
    rf"(?:0|[1-9][0-9]{{0,11}})(?:\.[0-9]{{1,6}})? ?(?:{'|'.join((*_UNITS, *(f'{u[:-1].upper()}B' for u in _UNITS)))})"
)


def decimal_text(digits: int | None, places: int | None) -> str:
    """Plain decimals of at most so many digits, and so many after the point; the number before it follows from both."""
    if digits is None:
        return DECIMAL if places is None else _decimals("*", places)
    if places is not None:  # 0 alone has a digit before the point
        return _decimals(digits - places, places) if digits > places else rf"-?0\.(?!0+$)[0-9]{{1,{digits}}}"
    return "|".join(_decimals(digits - after, after) for after in range(digits + 1))


def _decimals(before: int | str, after: int) -> str:
    repeat = "*" if before == "*" else f"{{0,{int(before) - 1}}}"
    whole = rf"(?:0|[1-9][0-9]{repeat})" if before else "0"
    return f"-?{whole}" + (rf"(?:\.[0-9]{{1,{after}}})?" if after else "")


# ---- days and times

DAY = f"(?!0000){DATE}"
SECONDS = rf"{HOUR}:{MINUTE}:{MINUTE}(?:\.[0-9]{{1,6}})?"
OFFSET = f"(?:Z|[+\\-]{HOUR}:{MINUTE})"
ZONES = {None: f"{OFFSET}?", "aware": OFFSET, "naive": ""}
_CLOCK = [r"[0-9]{1,5}H", r"[0-9]{1,6}M", r"[0-9]{1,8}(?:\.[0-9]{1,6})?S"]
_CALENDAR = ["[0-9]{1,4}Y", "[0-9]{1,5}M", "[0-9]{1,6}D"]


def _some(parts: list[str]) -> str:
    """One or more of the parts, in order."""
    return (
        "(?:" + "|".join(f"{part}{''.join(f'(?:{p})?' for p in parts[i + 1 :])}" for i, part in enumerate(parts)) + ")"
    )


DURATION = f"-?P(?:{_some(_CALENDAR)}(?:T{_some(_CLOCK)})?|T{_some(_CLOCK)}|[0-9]{{1,6}}W)"


def days_between(first: str | None, last: str | None) -> list[str]:
    """Patterns of days of ten characters, not before the first and not after the last: lexicographic order is date order."""
    found = []
    if first is not None:
        found.append(whole_text("|".join(_beyond(first, True))))
    if last is not None:
        found.append(whole_text("|".join(_beyond(last, False))))
    return found


def _beyond(day: str, above: bool) -> Iterable[str]:
    """The day itself, and the days above (or below) it, by the first digit that differs."""
    yield day
    for at, digit in enumerate(day):
        if digit != "-" and digit != ("9" if above else "0"):
            others = f"[{int(digit) + 1}-9]" if above else f"[0-{int(digit) - 1}]"
            yield day[:at] + others + "".join("-" if c == "-" else "[0-9]" for c in day[at + 1 :])


# ---- bytes

_SEXTETS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def base64_text(last: str, ascii_only: bool) -> str:
    """Base64 with padding.

    last          the two characters besides letters and digits
    ascii_only    of bytes below 128, since what is decoded is read as UTF-8
    """
    signs = _SEXTETS + last
    kinds = []
    for high_bit in (32, 8, 2, 0):  # of each byte, by the position of the character that it falls into
        allowed = [sign for i, sign in enumerate(signs) if not (ascii_only and i & high_bit)]
        kinds.append(_set_of(allowed))
    two = _set_of([s for i, s in enumerate(signs) if i % 4 == 0 and not (ascii_only and i & 2)])
    one = _set_of([s for i, s in enumerate(signs) if i % 16 == 0 and not (ascii_only and i & 8)])
    whole, (a, b, *_) = "".join(kinds), kinds
    return f"(?:{whole})*(?:{a}{one}==|{a}{b}{two}=)?"


def _set_of(signs: Iterable[str]) -> str:
    return "[" + "".join(signs).replace("-", r"\-") + "]"


HEX_BYTES = "(?:[0-9a-f]{2})"

# ---- identifiers, hosts, addresses


def uuid_text(version: int | None) -> str:
    if version is None:
        return UUID
    digit = "[0-9A-Fa-f]"
    return f"{digit}{{8}}-{digit}{{4}}-{version}{digit}{{3}}-[89ABab]{digit}{{3}}-{digit}{{12}}"


_LABEL = "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"  # without `--`: no label is taken for Punycode
_LAST_LABEL = "[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*"  # what ends in a number would be an IPv4 address
HOST = rf"(?:(?:{_LABEL}\.)*{_LAST_LABEL}|{IPV4})"
_PORT = "(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_USER = "(?:[A-Za-z0-9._~\\-]+(?::[A-Za-z0-9._~\\-]+)?@)?"
_ESCAPED = "%[0-9A-Fa-f]{2}"
_PCHAR = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@\-]|{_ESCAPED})"
_QUERY = rf"(?:[A-Za-z0-9._~!$&()*+,;=:@/?\-]|{_ESCAPED})"
_PATH = f"(?:/{_PCHAR}*)*"
_REST = rf"{_PATH}(?:\?{_QUERY}*)?(?:#{_QUERY}*)?"


def url_text(schemes: list[str] | None) -> str:
    """scheme://host/path?query#fragment, of any scheme, or of the allowed ones."""
    if schemes is None:
        return rf"(?!file:)[a-z][a-z0-9+.\-]*://{_USER}{HOST}{_PORT}{_REST}"
    escaped = [scheme.replace("+", r"\+").replace(".", r"\.") for scheme in schemes if scheme != "file"]
    forms = [rf"(?:{'|'.join(escaped)})://{_USER}{HOST}{_PORT}{_REST}"] if escaped else []
    if "file" in schemes:
        forms.append(f"file://(?:/{_PCHAR}*)+")
    return "|".join(forms)


_MAIL_LABEL = "[A-Za-z0-9](?:-?[A-Za-z0-9]){0,30}"
_RESERVED = "arpa|example|invalid|local|localhost|onion|test"
LONGEST_MAIL = 254
EMAIL = (
    rf"[A-Za-z0-9_+\-]{{1,31}}(?:\.[A-Za-z0-9_+\-]{{1,31}})?@(?:{_MAIL_LABEL}\.){{1,4}}"
    rf"(?!(?:{_RESERVED})$)[a-z]{{2,24}}"
)


def _ipv4_networks() -> str:
    """An address whose bits after the prefix are zero; without a prefix length, a full address."""
    octet = IPV4.rpartition("}")[2]
    forms = [rf"{IPV4}(?:/32)?"]
    for prefix in range(32):
        full, rest = divmod(prefix, 8)
        values = "|".join(str(v) for v in range(0, 256, 1 << (8 - rest)))
        forms.append(r"\.".join([octet] * full + [f"(?:{values})"] + ["0"] * (3 - full)) + f"/{prefix}")
    return "|".join(forms)


IPV4_NETWORK = _ipv4_networks()
IPV4_INTERFACE = f"(?:{IPV4})(?:/(?:[12]?[0-9]|3[0-2]))?"
_GROUP = "[0-9a-fA-F]{1,4}"
IPV6_NETWORK = "|".join([rf"(?:{IPV6})(?:/128)?", "::/0", *(f"(?:{_GROUP}:){{{n}}}:/{16 * n}" for n in range(1, 8))])
IPV6_INTERFACE = rf"(?:{IPV6})(?:/(?:[1-9]?[0-9]|1[01][0-9]|12[0-8]))?"

# Python's own regular expressions, as far as they form a regular language: groups of one level.
_SIGN = r"(?:[A-Za-z0-9 _,:;@%&=<>~!/#'\"\-]|\\[dDwWsS.*+?()\[\]{}|^$]|\.|\[\^?[A-Za-z0-9_]+\])[*+?]?"
REGEX = rf"\^?(?:{_SIGN}|\((?:\?:)?(?:{_SIGN})+\)[*+?]?|\|)*\$?"
