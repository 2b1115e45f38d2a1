"""Vocabularies of live objects: `tokenizers.Tokenizer`, and transformers' tokenizers around one ("fast").

Nothing is imported here: the caller has imported the library of such an object.
"""

import json
from collections.abc import Collection
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.token_table import TokenTable

from .components import Components
from .json_file import OPTIONS
from .slow import read_slow

CUSTOM = {"type": "written in Python"}  # refused as a decoder; other components only have to fit a known decoder


def read_tokenizers(backend: Any, special: Collection[int] = (), end_ids: Collection[int] = ()) -> TokenTable:
    """The table of a `tokenizers.Tokenizer`; `special` and `end_ids` are ids known from elsewhere."""
    vocab = backend.get_vocab(with_added_tokens=False)
    added = backend.get_added_tokens_decoder()
    components = Components(
        list(vocab),
        list(vocab.values()),
        {i: token.content for i, token in added.items()},
        {i for i, token in added.items() if token.special} | set(special),
        decoder=_described(backend.decoder, CUSTOM),
        pre_tokenizer=_described(backend.pre_tokenizer),
        normalizer=_described(backend.normalizer),
        model={option: getattr(backend.model, option, None) for option in OPTIONS},
    )
    return components.table(end_ids)


def _described(component: Any, unknown: Any = None) -> Any:
    """A component as in tokenizer.json, which is its pickled state; `unknown` for one written in Python, which has none."""
    if component is None:
        return None
    try:
        return json.loads(component.__getstate__())
    except Exception:  # the library raises a bare Exception for these
        return unknown


def read_transformers(tokenizer: Any) -> TokenTable:
    """The table of a transformers tokenizer, fast or slow."""
    if not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise TokenizerError(
            f"{type(tokenizer).__name__} is no tokenizer; a processor has one: pass its attribute tokenizer instead"
        )
    end = getattr(tokenizer, "eos_token_id", None)
    end_ids = [end] if isinstance(end, int) else end or []
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return read_slow(tokenizer, end_ids)
    return read_tokenizers(backend, [i for i in tokenizer.all_special_ids if i is not None], end_ids)
