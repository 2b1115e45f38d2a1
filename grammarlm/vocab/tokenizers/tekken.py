"""Mistral's tekken.json: tokens as base64, by rank. The ids before them are special tokens, named in the file or filled up."""

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.token_table import LARGEST_ID, TokenTable

UNNAMED = "<SPECIAL_{}>"  # what Mistral's library calls special ids that have no name
END = "</s>"
# The special tokens of the first version of the format, whose files do not list them.
UNLISTED = (
    "<unk>",
    "<s>",
    END,
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
)


def is_tekken(parsed: Mapping[str, Any]) -> bool:
    return isinstance(parsed.get("vocab"), list) and "default_num_special_tokens" in _part(parsed, "config")


def read_tekken(parsed: Mapping[str, Any], name: str) -> TokenTable:
    """The table of a parsed file."""
    try:
        specials, ranks = special_tokens(parsed), ranked_tokens(parsed)
        return _table(specials, ranks)
    except (KeyError, TypeError, ValueError) as error:
        raise TokenizerError(f"{name} is no tekken file: {type(error).__name__}: {error}") from None


def read_mistral(tokenizer: Any) -> TokenTable:
    """The table of a Tekkenizer of mistral_common."""
    specials = [tokenizer.id_to_piece(i) for i in range(tokenizer.num_special_tokens)]
    count = tokenizer.n_words
    return _table(specials, [tokenizer.id_to_byte_piece(i) for i in range(len(specials), count)])


def _table(specials: list[str], ranks: Iterable[bytes]) -> TokenTable:
    tokens = [special.encode() for special in specials] + [*ranks]
    return TokenTable.from_tokens(tokens, range(len(specials)), [specials.index(END)] if END in specials else [])


def special_tokens(parsed: Mapping[str, Any]) -> list[str]:
    count = _whole(_part(parsed, "config")["default_num_special_tokens"])
    listed = parsed.get("special_tokens")
    names = (
        dict(enumerate(UNLISTED)) if listed is None else {_whole(one["rank"]): str(one["token_str"]) for one in listed}
    )
    return [names.get(i, UNNAMED.format(i)) for i in range(count)]


def ranked_tokens(parsed: Mapping[str, Any]) -> list[bytes]:
    """The tokens that the model has: the file may list more."""
    config = _part(parsed, "config")
    count = _whole(config["default_vocab_size"]) - _whole(config["default_num_special_tokens"])
    listed = parsed["vocab"][: max(count, 0)]
    if len(listed) < count or any(_whole(one["rank"]) != rank for rank, one in enumerate(listed)):
        raise ValueError(f"its vocab does not have the ranks 0 to {count - 1} in order")
    return [base64.b64decode(one["token_bytes"], validate=True) for one in listed]


def tekken_encoder(parsed: Mapping[str, Any]) -> Callable[[str], list[int]]:
    """Encoder of a parsed file, by tiktoken, as in Mistral's library."""
    from tiktoken import Encoding

    ranks = {token: rank for rank, token in enumerate(ranked_tokens(parsed))}
    made = Encoding(END, pat_str=parsed["config"]["pattern"], mergeable_ranks=ranks, special_tokens={})
    first = len(special_tokens(parsed))
    return lambda text: [first + rank for rank in made.encode_ordinary(text)]


def _part(parsed: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = parsed.get(name)
    return part if isinstance(part, Mapping) else {}


def _whole(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= LARGEST_ID:
        raise ValueError(f"{number!r:.40} where a number of tokens is expected")
    return number
