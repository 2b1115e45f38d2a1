"""transformers' tokenizers in Python ("slow"): the encoding of each class is recognised, and then verified.

The attributes of an object show how its tokens map to bytes: a tiktoken encoding, a SentencePiece model, GPT-2's table of byte
characters, a WordPiece tokenizer, or one character a byte (ByT5). Then the tokenizer itself decodes all tokens at once; where the
result differs from these bytes it is refused, since a class may do anything to its text.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.token_table import TokenTable, is_utf8

from .sentencepiece import read_model
from .tiktoken import read_tiktoken

Speller = Callable[[str], bytes]


def read_slow(tokenizer: Any, end_ids: Iterable[int]) -> TokenTable:
    """The table of a slow tokenizer."""
    spelled, controls = _ordinary_tokens(tokenizer)
    flagged = tokenizer.added_tokens_decoder
    special = {i for i, token in flagged.items() if getattr(token, "special", False)}
    special |= {*controls, *(i for i in tokenizer.all_special_ids if i is not None)}
    own_text = {i: str(tokenizer.convert_ids_to_tokens(i)) for i in special} | {i: str(t) for i, t in flagged.items()}
    spelled |= {i: text.encode() for i, text in own_text.items()}
    _prove(tokenizer, {i: token for i, token in spelled.items() if i not in special})
    return TokenTable.from_ids(spelled, special, end_ids)


def _ordinary_tokens(tokenizer: Any) -> tuple[dict[int, bytes], Collection[int]]:
    """The bytes of the model's own ids, and the ids that are no text whatever their flags say."""
    encoding = next((v for v in vars(tokenizer).values() if type(v).__module__.startswith("tiktoken")), None)
    if encoding is not None:
        table = read_tiktoken(encoding)
        return {i: token for i in range(table.count) if (token := table.token(i))}, table.special_ids
    spell, controls = _speller(tokenizer)
    ids = set(tokenizer.get_vocab().values()) - set(tokenizer.added_tokens_decoder)
    written = {i: tokenizer.convert_ids_to_tokens(i) for i in ids}
    unknown = next((i for i in sorted(ids) if not _can(spell, written[i])), None)
    if unknown is not None:
        raise TokenizerError(
            f"{type(tokenizer).__name__} has the token {written[unknown]!r} (id {unknown}), which is not written like "
            "its others: what it spells is not known"
        )
    return {i: spell(token) for i, token in written.items()}, [i for i in ids if written[i] in controls]


def _speller(tokenizer: Any) -> tuple[Speller, set[str]]:
    """The function from an ordinary token to its bytes, and the control tokens."""
    if hasattr(tokenizer, "sp_model"):
        table, pieces = read_model(tokenizer.sp_model.serialized_model_proto(), type(tokenizer).__name__)
        return pieces.__getitem__, {table.token(i).decode() for i in table.special_ids}
    byte_of = getattr(tokenizer, "byte_decoder", None)
    if isinstance(byte_of, dict):
        return lambda token: bytes(byte_of[character] for character in token), set()
    if hasattr(tokenizer, "wordpiece_tokenizer"):
        return lambda token: token[2:].encode() if token.startswith("##") else b" " + token.encode(), set()
    if getattr(tokenizer, "_utf_vocab_size", None) == 256:
        return lambda token: bytes([ord(token)]), set()
    raise TokenizerError(
        f"the slow tokenizer {type(tokenizer).__name__} does not show how its tokens are written; accepted: classes "
        "with a SentencePiece model, a tiktoken encoding, byte-level or WordPiece tokens. Use its fast version, or "
        "give Vocabulary(tokens, stop_ids) the bytes"
    )


def _can(spell: Speller, token: str) -> bool:
    try:
        spell(token)
    except (KeyError, ValueError, TypeError):
        return False
    return True


def _prove(tokenizer: Any, spelled: dict[int, bytes]) -> None:
    """Compares the tokenizer's decoding of all tokens that are valid UTF-8 with their bytes, except for spaces at the ends."""
    ids = [i for i, token in spelled.items() if is_utf8(token)]
    want = b"".join(spelled[i] for i in ids).decode().strip()
    have = tokenizer.decode(ids, clean_up_tokenization_spaces=False, spaces_between_special_tokens=False).strip()
    if have != want:
        at = next((i for i, (a, b) in enumerate(zip(have, want, strict=False)) if a != b), min(len(have), len(want)))
        near = slice(max(0, at - 10), at + 20)
        raise TokenizerError(
            f"{type(tokenizer).__name__} does not decode its tokens to the bytes they stand for: it gives "
            f"{have[near]!r} where they spell {want[near]!r}. Use its fast version, or pass the SentencePiece "
            "processor or tiktoken encoding in it"
        )
