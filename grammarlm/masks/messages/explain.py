"""Why a token may not come next, in words."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from grammarlm.errors import shorten
from grammarlm.masks.matcher_like import MatcherLike
from grammarlm.masks.protocol import Epoch, row_of
from grammarlm.masks.trail import steps_of


def explain(matcher: MatcherLike, token: int) -> str:
    """One or two lines: "allowed", or the reason against it and what was expected instead."""
    vocab = matcher._constraint.vocab
    if not 0 <= token < vocab.size:
        return f"not in the vocabulary: ids are 0 to {vocab.size - 1}"
    if matcher.is_finished:
        return "the text has ended"
    if matcher._row()[token >> 5] >> (token & 31) & 1:
        return "allowed"
    reason = _reason(matcher, token)
    return shorten(
        f"{reason}\n{where}" if (where := matcher._made(lambda epoch, state: epoch.describe(state))) else reason
    )


def _reason(matcher: MatcherLike, token: int) -> str:
    vocab = matcher._constraint.vocab
    data = vocab.token_bytes(token)
    if token in vocab.stop_ids:
        return f"the text may not end here; expected {_expected(matcher, b'')}{_rule(matcher, b'', None)}"
    if matcher._made(row_of)[token >> 5] >> (token & 31) & 1:
        if (kept := matcher._canonical_row()) is not None and not kept[token >> 5] >> (token & 31) & 1:
            cut = "the last token and this one" if matcher._constraint._closed is None else "every text that begins so"
            return f"allowed by the grammar, but the tokenizer cuts {cut} in another way"
        return "allowed by the grammar, but after it the tokens that are left might not be enough to end the text"
    if reason := matcher._made(lambda epoch, state: epoch.refusal(state, token)):
        return reason
    if token in vocab.special_ids:
        return "a special token, and the grammar asks for no such token here"
    if not data:
        return "not in the vocabulary: the id has no bytes"
    read = matcher._made(lambda epoch, state: _readable(epoch, state, data))
    if read == len(data):
        return "its bytes can be read, but no tokens of this vocabulary end the text after it"
    offending = shown({data[read]})
    place = f"byte {read} of {data!r:.80}" if len(data) > 1 else "it"
    return (
        f"{place} is {offending}; expected {_expected(matcher, data[:read])}{_rule(matcher, data[:read], data[read])}"
    )


def _rule(matcher: MatcherLike, more: bytes, byte: int | None) -> str:
    """A line with the rules of a schema that refuse a byte (None: the end) after these; empty where none is known."""
    vocab = matcher._constraint.vocab
    read = b"".join(step if isinstance(step, bytes) else vocab.token_bytes(step) for step in steps_of(matcher._head))
    rule = matcher._constraint._broken_rule(read + more, byte)
    return f"\nrefused by {rule}" if rule else ""


def _readable(epoch: Epoch, state: int, data: bytes) -> int:
    """The length of the longest prefix that can be read here."""
    return next(n for n in range(len(data), -1, -1) if n == 0 or epoch.after_bytes(state, data[:n]))


def _expected(matcher: MatcherLike, read: bytes) -> str:
    """What may come after these bytes, in words."""

    def find(epoch: Epoch, state: int) -> tuple[set[int], list[int]]:
        after = epoch.after_bytes(state, read)
        alone = {b for b in range(256) if epoch.after_bytes(after, bytes([b]))}
        first = set(
            np.flatnonzero(epoch.next_bytes(after)).tolist()
        )  # of longer tokens, where single bytes are too many
        return alone or first, epoch.special_tokens(after)

    bytes_, tokens = matcher._made(find)
    vocab = matcher._constraint.vocab
    names = [f"the token {vocab.token_bytes(t).decode(errors='replace')!r:.60}" for t in tokens[:5]]
    if len(tokens) > len(names):
        names.append(f"{len(tokens) - len(names)} other tokens")
    return ", ".join([shown(bytes_), *names] if bytes_ or not names else names)


def shown(bytes_: set[int]) -> str:
    """A set of bytes for a reader: 'a' to 'z', '\\n', 0x80 to 0xbf."""
    if not bytes_:
        return "nothing"
    if len(bytes_) == 256:
        return "any byte"
    ranges = []
    for _, run in groupby(enumerate(sorted(bytes_)), key=lambda pair: pair[1] - pair[0]):
        members = [b for _, b in run]
        names = [repr(chr(b)) if b < 0x80 else f"0x{b:02x}" for b in members]
        ranges.append(f"{names[0]} to {names[-1]}" if len(names) > 2 else ", ".join(names))
    return ", ".join(ranges)
