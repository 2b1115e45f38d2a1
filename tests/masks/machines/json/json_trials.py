"""The tokens of the JSON cases by their bytes, and a mask by trial: every id that advance takes."""

import grammarlm as gl
from tests.masks.machines.json.json_cases import STOP, TOKENS, vocabulary

VOCAB = vocabulary()
IDS: dict[bytes, list[int]] = {}
for _token in range(STOP):
    IDS.setdefault(TOKENS[_token], []).append(_token)
LONGEST = max(map(len, IDS))


def taken_ids(matcher: gl.Matcher) -> set[int]:
    """The ids that advance takes, each tried."""
    taken = set()
    for token in range(-1, VOCAB.size + 1):
        if matcher.advance(token):
            taken.add(token)
            matcher.rollback(1)
    return taken
