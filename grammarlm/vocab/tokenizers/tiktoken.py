"""tiktoken encodings: their ranks are bytes already. Ids may have holes (two are missing in o200k_base)."""

from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.token_table import LARGEST_ID, TokenTable

END = "<|endoftext|>"  # the name that tiktoken itself gives to the end of a text (Encoding.eot_token)


def read_tiktoken(encoding: Any) -> TokenTable:
    """The table of a `tiktoken.Encoding`; its special tokens are special."""
    if encoding.n_vocab > LARGEST_ID:
        raise TokenizerError(
            f"the encoding {encoding.name!r} has the id {encoding.n_vocab - 1}: at most {LARGEST_ID - 1}"
        )
    spelled = {}
    for i in range(encoding.n_vocab):
        try:
            spelled[i] = encoding.decode_single_token_bytes(i)
        except KeyError:
            continue
    special = {text: encoding.encode_single_token(text) for text in encoding.special_tokens_set}
    for text, i in special.items():
        if spelled[i] != text.encode():
            raise TokenizerError(
                f"the encoding {encoding.name!r} has two tokens with the id {i}, {spelled[i][:40]!r} and {text!r}: "
                "what it means is not known"
            )
    return TokenTable.from_ids(spelled, special.values(), [special[END]] if END in special else [])
