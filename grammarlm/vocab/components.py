"""A tokenizer as the `tokenizers` library takes it apart, and what its tokens spell.

The same parts come from a tokenizer.json and from a live object. The decoder says what a token spells; the other parts are
read only to see whether they fit it: a tokenizer whose decoder does not undo what its encoder does is refused, since its
tokens would mean one thing in a prompt and another in an answer.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.decoders import flatten, spelled_bytes
from grammarlm.vocab.token_table import TokenTable


@dataclass(frozen=True)
class Components:
    tokens: Sequence[str]  # the model's vocabulary, without added tokens
    ids: Sequence[int]  # their ids
    added: Mapping[int, str]  # added tokens; an id may be in both where the text is the same
    special: Collection[int]
    decoder: Any  # this and the next two: as in tokenizer.json
    pre_tokenizer: Any = None
    normalizer: Any = None
    model: Mapping[str, Any] = field(default_factory=dict)  # the model's options

    def table(self, end_ids: Collection[int] = ()) -> TokenTable:
        """What every id spells."""
        _check_model(self)
        try:
            spelled = dict(zip(self.ids, spelled_bytes(self.decoder, list(self.tokens)), strict=True))
            if len(spelled) != len(self.ids):
                raise TokenizerError(
                    "two tokens of the tokenizer's vocabulary have the same id: what it means cannot be told"
                )
            for i, content in self.added.items():
                spelled[i] = self._added_bytes(i, content, spelled.get(i))
        except UnicodeEncodeError as error:
            raise TokenizerError(f"the token {error.object[:40]!r} is not Unicode text (a lone surrogate)") from None
        return TokenTable.from_ids(spelled, self.special, end_ids)

    def _added_bytes(self, token_id: int, content: str, in_model: bytes | None) -> bytes:
        """An added token is found in a text as it stands, but decoded like any other; both have to agree.

        They differ in byte-level writing alone. Where the decoder makes invalid UTF-8 of it (DeepSeek's added u-umlaut, whose
        character is also the sign for the byte FC) the decoded text is lost anyway, and the text that was encoded counts.
        """
        literal = content.encode()
        if token_id in self.special:
            return literal
        spelled = spelled_bytes(self.decoder, [content])[0]
        if in_model is not None and in_model != spelled:
            raise TokenizerError(
                f"the id {token_id} has two meanings: the added token {content!r}, and {in_model[:40]!r}"
            )
        if spelled == literal or not _has_step(self.decoder, "decoders", "ByteLevel"):
            return spelled
        if in_model is None and not _is_utf8(spelled):
            return literal
        raise TokenizerError(
            f"the added token {content!r} (id {token_id}) stands for that text in a prompt, but decodes to {spelled!r}: its bytes "
            "cannot be told. Remove it, or flag it special"
        )


def _check_model(parts: Components) -> None:
    """The encoder's side has to fit the decoder."""
    model = parts.model
    if model.get("end_of_word_suffix"):
        raise TokenizerError(
            f"the tokenizer's model has the end_of_word_suffix {model['end_of_word_suffix']!r}: whether a space follows a word "
            "depends on the next token. Accepted: byte-level, metaspace, WordPiece, tiktoken and SentencePiece vocabularies"
        )
    decoder = list(flatten(parts.decoder, "decoders"))
    kinds = {step["type"] for step in decoder}
    prefix = model.get("continuing_subword_prefix")
    if decoder and prefix and prefix not in {step.get("prefix") for step in decoder if step["type"] == "WordPiece"}:
        raise TokenizerError(
            f"the tokenizer's model marks word parts with {prefix!r}, which its decoder does not take off "
            f"(it has {', '.join(sorted(kinds))}); accepted: the decoder WordPiece with that prefix"
        )
    encoder = _has_step(parts.pre_tokenizer, "pretokenizers", "ByteLevel") or _has_step(
        parts.normalizer, "normalizers", "ByteLevel"
    )
    for uses, step in ((encoder, "ByteLevel"), (model.get("byte_fallback"), "ByteFallback")):
        if decoder and uses and step not in kinds:
            raise TokenizerError(
                f"the tokenizer encodes with {step}, but its decoder has no {step} step (it has {', '.join(sorted(kinds))}): "
                "its tokens do not decode to the text they encode. Set the decoder that belongs to it"
            )


def _has_step(component: Any, key: str, kind: str) -> bool:
    return any(step["type"] == kind for step in flatten(component, key))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
