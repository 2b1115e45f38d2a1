"""Addresses and references as regular expressions, from the grammars of their RFCs.

`ucs` and `private` are the characters beyond ASCII of the internationalised forms.
"""

from __future__ import annotations

_HEX = "[0-9A-Fa-f]"
_HEX4 = f"{_HEX}{{1,4}}"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"


def _ipv6() -> str:
    """RFC 3986's IPv6address: eight groups, the last two of which may be an IPv4 address; `::` is one group of zeros or more."""
    last = f"(?:{_HEX4}:{_HEX4}|{IPV4})"
    forms = [f"(?:{_HEX4}:){{6}}{last}", f"::(?:{_HEX4}:){{5}}{last}"]
    for left in range(1, 6):
        before = f"(?:(?:{_HEX4}:){{0,{left - 1}}}{_HEX4})?"
        forms.append(f"{before}::(?:{_HEX4}:){{{5 - left}}}{last}")
    forms.append(f"(?:(?:{_HEX4}:){{0,5}}{_HEX4})?::{_HEX4}")
    forms.append(f"(?:(?:{_HEX4}:){{0,6}}{_HEX4})?::")
    return f"(?:{'|'.join(forms)})"


IPV6 = _ipv6()

UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"

# ---- names of hosts, and mail

_ALNUM = "[A-Za-z0-9]"


_LABEL = rf"{_ALNUM}(?:[A-Za-z0-9\-]{{0,61}}{_ALNUM})?"  # `xn--...` too: no automaton can decode what it stands for
LABELS = rf"{_LABEL}(?:\.{_LABEL})*"
LONGEST_HOSTNAME = 253

_BEYOND_ASCII = r"\u0080-\U0010FFFF"
_ATOM = r"A-Za-z0-9!#$%&'*+\-/=?\^_`{|}~"
_LETTERS = r"A-Za-z0-9\p{Ll}\p{Lo}\p{Lm}\p{Nd}"  # the characters of an IDNA 2008 label, without marks


def _ipv6_of_mail() -> str:
    """RFC 5321's: here `::` is two groups of zeros or more, and the last groups are an IPv4 address of any octets."""
    octet = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"
    quad = rf"{octet}(?:\.{octet}){{3}}"
    forms = [f"{_HEX4}(?::{_HEX4}){{7}}", f"{_HEX4}(?::{_HEX4}){{5}}:{quad}"]
    for groups, end in ((6, ""), (4, f"(?:{quad})")):
        for left in range(groups + 1):
            before = f"{_HEX4}(?::{_HEX4}){{{left - 1}}}" if left else ""
            right = groups - left
            after = f"(?:{_HEX4}(?::{_HEX4}){{0,{right - 1}}})?" if right else ""
            if end:
                after = f"(?:(?:{_HEX4}:){{1,{right}}})?{end}" if right else end
            forms.append(f"{before}::{after}")
    return f"(?:{quad}|IPv6:(?:{'|'.join(forms)}))"


def _mailbox(more: str, domain: str) -> str:
    """RFC 5321's Mailbox; `more`: characters beyond ASCII."""
    local = rf"(?:[{_ATOM}{more}]+(?:\.[{_ATOM}{more}]+)*|\"(?:[ !#-\[\]-~{more}]|\\[ -~])*\")"
    return rf"{local}@(?:{domain}|\[{_ipv6_of_mail()}\])"


def _domain(first: str, later: str) -> str:
    label = f"[{first}](?:[{later}\\-]*[{later}])?"
    return rf"{label}(?:\.{label})*"


EMAIL = _mailbox("", _domain("A-Za-z0-9", "A-Za-z0-9"))
IDN_EMAIL = _mailbox(_BEYOND_ASCII, _domain(_LETTERS, _LETTERS + r"\p{Mn}\p{Mc}"))

# ---- references

_DELIMITERS = "!$&'()*+,;="
_UCS = (
    r"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF"
    + "".join(rf"\U000{plane:X}0000-\U000{plane:X}FFFD" for plane in range(1, 14))
    + r"\U000E1000-\U000EFFFD"
).replace(r"\U000E0000-\U000EFFFD", "")
_PRIVATE = r"\uE000-\uF8FF\U000F0000-\U000FFFFD\U00100000-\U0010FFFD"


def _reference(ucs: str, private: str) -> tuple[str, str]:
    """RFC 3986's URI and URI-reference, or RFC 3987's."""
    escaped = f"%{_HEX}{_HEX}"
    name = rf"A-Za-z0-9\-._~{ucs}{_DELIMITERS}"
    char = f"(?:[{name}:@]|{escaped})"
    userinfo = f"(?:(?:[{name}:]|{escaped})*@)?"
    future = rf"[vV]{_HEX}+\.[A-Za-z0-9\-._~{_DELIMITERS}:]+"
    host = rf"(?:\[(?:{IPV6}|{future})\]|(?:[{name}]|{escaped})*)"
    authority = f"//{userinfo}{host}(?::[0-9]*)?"
    segments = f"(?:/{char}*)*"
    absolute = f"/(?:{char}+{segments})?"
    query = rf"(?:\?(?:[{name}:@/?{private}]|{escaped})*)?"
    fragment = rf"(?:#(?:[{name}:@/?]|{escaped})*)?"
    whole = rf"[A-Za-z][A-Za-z0-9+\-.]*:(?:{authority}{segments}|{absolute}|{char}+{segments})?{query}{fragment}"
    first = f"(?:[{name}@]|{escaped})+{segments}"
    relative = f"(?:{authority}{segments}|{absolute}|{first})?{query}{fragment}"
    return whole, f"(?:{whole}|{relative})"


URI, URI_REFERENCE = _reference("", "")
IRI, IRI_REFERENCE = _reference(_UCS, _PRIVATE)

_VARIABLE = rf"(?:[A-Za-z0-9_]|%{_HEX}{_HEX})(?:\.?(?:[A-Za-z0-9_]|%{_HEX}{_HEX}))*(?::[1-9][0-9]{{0,3}}|\*)?"
_LITERAL = rf"[!#$&-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]"
URI_TEMPLATE = rf"(?:{_LITERAL}|%{_HEX}{_HEX}|\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"

JSON_POINTER = "(?:/(?:[^~/]|~[01])*)*"
RELATIVE_JSON_POINTER = f"(?:0|[1-9][0-9]*)(?:#|{JSON_POINTER})"
