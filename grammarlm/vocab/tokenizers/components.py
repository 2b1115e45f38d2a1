"""The components of a tokenizer, as the `tokenizers` library divides it, and the bytes of its tokens.

The same components come from a tokenizer.json and from a live object. The decoder defines the bytes of a token; the others are only
checked against it: where a decoder does not undo the encoder, a token means one thing in a prompt and another in an answer, and the
tokenizer is refused.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.token_table import TokenTable, is_utf8

from .decoders import flatten, spelled_bytes


@dataclass(frozen=True)
class Components:
    """Components of a tokenizer; those typed `Any` are as parsed from a tokenizer.json."""

    tokens: Sequence[str]  # the model's own, without added tokens
    ids: Sequence[int]  # one for each of `tokens`
    added: Mapping[int, str]  # by id; the model may have the same token
    special: Collection[int]
    decoder: Any
    pre_tokenizer: Any
    normalizer: Any
    model: Mapping[str, Any]  # the model's options: byte_fallback, continuing_subword_prefix, end_of_word_suffix

    def table(self, end_ids: Collection[int] = ()) -> TokenTable:
        """The table of all ids' bytes."""
        try:
            spelled = dict(zip(self.ids, spelled_bytes(self.decoder, self.tokens), strict=True))
            _check_encoder(self)
            if len(spelled) != len(self.ids):
                raise TokenizerError("two tokens of the tokenizer's model have the same id: its meaning is not known")
            spelled |= self._added_bytes()
        except UnicodeEncodeError as error:
            raise TokenizerError(f"the token {error.object[:40]!r} is not Unicode text (a lone surrogate)") from None
        return TokenTable.from_ids(spelled, self.special, end_ids)

    def _added_bytes(self) -> dict[int, bytes]:
        """The bytes of added tokens: special ones are their own text, the others are decoded."""
        in_model = dict(zip(self.ids, self.tokens, strict=True))
        for i, content in self.added.items():
            if in_model.get(i, content) != content:
                raise TokenizerError(
                    f"the id {i} has two meanings: the added token {content!r}, and the model's {in_model[i]!r}"
                )
        decoded = dict(zip(self.added, spelled_bytes(self.decoder, list(self.added.values())), strict=True))
        byte_level = _has(self.decoder, "decoders", "ByteLevel")
        for i, content in self.added.items():
            if i in self.special:
                decoded[i] = content.encode()
            elif byte_level and decoded[i] != content.encode():
                decoded[i] = _literal_bytes(i, content, decoded[i], i in in_model)
        return decoded


def _literal_bytes(token_id: int, content: str, decoded: bytes, in_model: bool) -> bytes:
    """The bytes of a byte-level tokenizer's added token that is written as plain text, but that its decoder reads as byte-level.

    The encoder matches it in a text literally. DeepSeek's added u-umlaut, a character that also stands for the byte FC, does not
    decode to valid text: then the text that it encodes counts. Where both are valid text, they contradict, and the token is
    refused.
    """
    if not in_model and not is_utf8(decoded):
        return content.encode()
    raise TokenizerError(
        f"the added token {content!r} (id {token_id}) stands for that text in a prompt, but decodes to {decoded!r}: "
        "its bytes are not known. Remove it, or flag it special"
    )


def _check_encoder(parts: Components) -> None:
    """TokenizerError where the encoder's components do not fit the decoder."""
    steps = list(flatten(parts.decoder, "decoders"))
    kinds = {step["type"] for step in steps}
    found = f"its decoder has {', '.join(sorted(kinds)) or 'no steps'}"
    suffix, prefix = parts.model.get("end_of_word_suffix"), parts.model.get("continuing_subword_prefix")
    if suffix:
        raise TokenizerError(
            f"the tokenizer's model ends words with {suffix!r}: whether a space follows depends on the next token. "
            "Accepted: byte-level, metaspace, WordPiece, tiktoken and SentencePiece vocabularies"
        )
    if prefix and prefix not in [step.get("prefix") for step in steps if step["type"] == "WordPiece"]:
        raise TokenizerError(
            f"the tokenizer's model begins parts of words with {prefix!r}, but {found}; accepted: the decoder "
            "WordPiece with that prefix"
        )
    byte_level = _has(parts.pre_tokenizer, "pretokenizers", "ByteLevel") or _has(
        parts.normalizer, "normalizers", "ByteLevel"
    )
    for used, step in ((byte_level, "ByteLevel"), (parts.model.get("byte_fallback"), "ByteFallback")):
        if used and step not in kinds:
            raise TokenizerError(
                f"the tokenizer encodes with {step}, but {found}: tokens do not decode to the text that they encode. "
                f"Set a decoder with {step}"
            )


def _has(component: Any, key: str, kind: str) -> bool:
    return any(step["type"] == kind for step in flatten(component, key))
