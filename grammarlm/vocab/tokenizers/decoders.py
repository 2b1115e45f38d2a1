"""The bytes of a token, by the `decoder` of a tokenizer.json: the component that turns tokens into text.

A decoder sees all tokens of a text at once, so bytes per token exist only where it treats each token alone. That holds for the
steps below, in an order that is checked:

    Replace, Metaspace, WordPiece, Strip     rewrite each token
    ByteFallback                             reads `<0x0A>` as one byte
    ByteLevel                                decodes byte-level characters, and joins
    Fuse                                     joins; then Strip may remove spaces at the beginning

Three of them treat the *first* token of a text differently: it loses spaces (Metaspace, WordPiece, and Strip after Fuse, which is
Llama 2's). A token's bytes are those that it has anywhere else, so that texts can be continued: a whole text decodes to the bytes
of its tokens without those spaces. WordPiece's `cleanup` works inside each token and is applied. Everything else is refused by
name.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from grammarlm.errors import TokenizerError

from .byte_level import byte_level_bytes

ACCEPTED = "ByteLevel, Metaspace, WordPiece, Replace (of a string), Strip, ByteFallback, Fuse, and a Sequence of these"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")  # what Rust's u8::from_str_radix accepts, the sign included
_CLEANUP = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def flatten(component: Any, key: str) -> Iterator[dict[str, Any]]:
    """The steps of a component, nested Sequences flattened; `key` names a Sequence's list ("decoders", "pretokenizers", ...)."""
    waiting = [] if component is None else [component]
    while waiting:
        step = waiting.pop()
        kind = step.get("type") if isinstance(step, dict) else None
        if kind == "Sequence" and isinstance(step.get(key), list):
            waiting += reversed(step[key])
        elif isinstance(kind, str) and kind != "Sequence":
            yield step
        else:
            raise TokenizerError(f"a tokenizer component is an object with a type, not {str(step)[:80]!r}")


def spelled_bytes(decoder: Any, tokens: Sequence[str]) -> list[bytes]:
    """The bytes of each token."""
    if decoder is None:
        raise TokenizerError(
            "the tokenizer has no decoder: its tokens are joined by spaces, which does not say where words begin. "
            f"Set one, for example tokenizers.decoders.ByteLevel(); accepted: {ACCEPTED}"
        )
    steps = list(flatten(decoder, "decoders"))
    while steps and steps[0]["type"] in _EACH:
        rewrite = _EACH[steps[0]["type"]](steps.pop(0))
        tokens = [rewrite(token) for token in tokens]
    if steps and steps[0]["type"] in _TO_BYTES:
        to_bytes = _TO_BYTES[steps[0]["type"]]
        joined = steps.pop(0)["type"] == "ByteLevel"
    else:
        to_bytes, joined = str.encode, False
    for step in steps:
        _check_late(step, joined)
        joined = joined or step["type"] == "Fuse"
    return [to_bytes(token) for token in tokens]


def _check_late(step: dict[str, Any], joined: bool) -> None:
    """After the step to bytes only joining may follow, and stripping spaces at the beginning of the whole text."""
    kind = step["type"]
    if kind == "Fuse" or (joined and kind == "Strip" and step.get("content") == " " and not step.get("stop")):
        return
    if kind in _EACH or kind in _TO_BYTES:
        raise TokenizerError(
            f"the tokenizer's decoder has {kind} where it works on several tokens at once: what each spells is not "
            "known. Accepted: rewriting steps, then ByteFallback or ByteLevel, then Fuse, then a Strip of leading spaces"
        )
    raise _unknown(kind)


def _unknown(kind: str) -> TokenizerError:
    return TokenizerError(
        f"the tokenizer's decoder {kind!r} does not give each token bytes of its own; accepted: {ACCEPTED}"
    )


def _string(step: dict[str, Any], key: str, default: str) -> str:
    value = step.get(key, default)
    if not isinstance(value, str) or not value:
        raise TokenizerError(f"the decoder {step['type']} has the {key} {str(value)[:80]!r}: a string is accepted")
    return value


def _replace(step: dict[str, Any]) -> Callable[[str], str]:
    pattern, content = step.get("pattern"), step.get("content")
    string = pattern.get("String") if isinstance(pattern, dict) else None
    if not isinstance(string, str) or not string or not isinstance(content, str):
        raise TokenizerError(
            f"the decoder Replace has the pattern {str(pattern)[:80]!r}: only a string is read exactly"
        )
    return lambda token: token.replace(string, content)


def _metaspace(step: dict[str, Any]) -> Callable[[str], str]:
    mark = _string(step, "replacement", "\u2581")
    return lambda token: token.replace(mark, " ")


def _wordpiece(step: dict[str, Any]) -> Callable[[str], str]:
    prefix, cleanup = _string(step, "prefix", "##"), step.get("cleanup", True)

    def spell(token: str) -> str:
        token = token[len(prefix) :] if token.startswith(prefix) else " " + token
        if cleanup:
            for old, new in _CLEANUP:
                token = token.replace(old, new)
        return token

    return spell


def _strip(step: dict[str, Any]) -> Callable[[str], str]:
    content, start, stop = step.get("content"), step.get("start", 0), step.get("stop", 0)
    if not isinstance(content, str) or len(content) != 1 or not isinstance(start, int) or stop != 0:
        raise TokenizerError(
            f"the decoder Strip takes {stop!r} times {content!r} off the end: accepted is one character at the beginning "
            "(its library fails on tokens shorter than what it takes off the end)"
        )

    def cut(token: str) -> str:
        left = 0
        while left < min(start, len(token)) and token[left] == content:
            left += 1
        return token[left:]

    return cut


def _byte_fallback(token: str) -> bytes:
    found = _BYTE.fullmatch(token)
    return bytes([int(found[1], 16)]) if found else token.encode()


_EACH: dict[str, Callable[[dict[str, Any]], Callable[[str], str]]] = {
    "Replace": _replace,
    "Metaspace": _metaspace,
    "WordPiece": _wordpiece,
    "Strip": _strip,
}
_TO_BYTES: dict[str, Callable[[str], bytes]] = {"ByteFallback": _byte_fallback, "ByteLevel": byte_level_bytes}
