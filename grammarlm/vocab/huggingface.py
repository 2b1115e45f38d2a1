"""Vocabularies of live objects: `tokenizers.Tokenizer`, and transformers' tokenizers, fast and slow.

Nothing is imported here: whoever has such an object has imported its library.
"""

import json
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.components import Components
from grammarlm.vocab.token_table import TokenTable
from grammarlm.vocab.tokenizer_json import OPTIONS


def read_tokenizers(backend: Any, special: set[int] = frozenset(), end_ids: tuple[int, ...] = ()) -> TokenTable:  # type: ignore[assignment]
    """The table of a `tokenizers.Tokenizer`."""
    vocab = backend.get_vocab(with_added_tokens=False)
    added = backend.get_added_tokens_decoder()
    components = Components(
        list(vocab),
        list(vocab.values()),
        {i: token.content for i, token in added.items()},
        {i for i, token in added.items() if token.special} | special,
        decoder=_described(backend.decoder, "decoder"),
        pre_tokenizer=_described(backend.pre_tokenizer, "pre-tokenizer"),
        normalizer=_described(backend.normalizer, "normalizer"),
        model={option: getattr(backend.model, option, None) for option in OPTIONS},
    )
    return components.table(end_ids)


def _described(component: Any, role: str) -> Any:
    """A component as in tokenizer.json: its pickled state is that JSON."""
    if component is None:
        return None
    try:
        return json.loads(component.__getstate__())
    except Exception as error:  # one written in Python has no description
        raise TokenizerError(f"the tokenizer has a {role} of its own ({error}): what it does cannot be told") from None


def read_transformers(tokenizer: Any) -> TokenTable:
    """The table of a transformers tokenizer."""
    end = getattr(tokenizer, "eos_token_id", None)
    return read_tokenizers(tokenizer.backend_tokenizer, set(tokenizer.all_special_ids), () if end is None else (end,))
