"""Strings of JSON: positions inside a character or an escape, and classes of bytes."""

import numpy as np

# Positions (`sub` of a thread).
BODY, BACKSLASH = 0, 1
HEX = 2  # 3, 4, 5: after 1, 2, 3 hexadecimal digits
LOW_BACKSLASH, LOW_U, LOW_HEX = 6, 7, 8  # after the first half of a surrogate pair; 8 to 11: the digits of the second
LAST_1, LAST_2, LEAD_E0, LEAD_ED, LEAD_F0, LEAD_F, LEAD_F4 = 12, 13, 14, 15, 16, 17, 18  # within a character

# Byte classes; the loops of a state are a set of them. The other classes are of ASCII alone (json/vocabulary/alphabets.py).
BLANKS_BEYOND = 59  # characters beyond ASCII with the first bytes of a blank or line end, which `.` and `\\S` reject
BEYOND_ASCII = 60  # all other well-formed characters
NEVER = 61  # control characters, quote, backslash, invalid UTF-8
CHARACTERS_AT, MANY_CHARACTERS = 46, 511  # bits of an alphabet: characters that begin in the node's subtree, saturating
KNOWN_LOOPS = np.int64(1 << 62)
UNKNOWN_LOOPS = np.int64(-1)  # until more states are computed, then retried
