"""llama.cpp behind the bench's interface: its grammar sampler, over a file with the tokens of the tokenizer that all engines share.

The grammar of a schema is llama-cpp-python's `json_schema_to_gbnf`, a copy of an early converter of llama.cpp, which passes over
numeric bounds and much else; llama.cpp's own of today is in no library that is installed. The masks are the library's.
"""

from __future__ import annotations

import ctypes
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ENTRY = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])  # llama_token_data


class LlamaCpp:
    """Masks of all tokens, where llama.cpp itself asks for one only after it has sampled a token that the grammar refuses.

    What is asked about are the tokens that have text, and the stop; of those with the same bytes one, for all of them. A text
    that llama.cpp knows as the name of an end, such as </s>, ends a text there, and is not asked about.
    """

    title = "llamacpp"
    package = "llama-cpp-python"
    note = (
        "llamacpp: grammars by llama-cpp-python's converter, which passes over numeric bounds and others, masks by llama.cpp. Its "
        "times are those of whole masks, where llama.cpp itself asks for one only after a sampled token was refused."
    )
    installation = "llama-cpp-python gguf"
    refusals: tuple[type[Exception], ...] = (Exception,)

    def __init__(self, tokenizer: Any):
        import llama_cpp
        from llama_cpp.llama_grammar import json_schema_to_gbnf

        import grammarlm as gl

        self._library, self._translate = llama_cpp, json_schema_to_gbnf
        vocab: Any = gl.Vocabulary.from_tokenizer(tokenizer)
        self._stop = int(tokenizer.eos_token_id)
        text = [token for token in vocab.text_ids.tolist() if token != self._stop]
        first: dict[bytes, int] = {}
        self._twin = np.arange(vocab.size)  # the token that is asked about
        for token in text:
            self._twin[token] = first.setdefault(vocab.token_bytes(token), token)
        self._text = np.array(text)
        self._vocab = load_vocabulary(llama_cpp, vocab.size, first, self._stop)
        asked = [token for token in first.values() if not llama_cpp.llama_vocab_is_eog(self._vocab, token)]
        self._asked = Candidates(llama_cpp, [*asked, self._stop])
        self._end = Candidates(llama_cpp, [self._stop])
        self._bits = np.zeros((vocab.size + 31) // 32 * 32, bool)
        self._ready: Any = None
        self._sampler: Any = None

    def forget(self) -> None:
        """It caches nothing between schemas."""

    def compile(self, schema: Any) -> None:
        grammar = self._translate(json.dumps(schema))
        self._free(self._ready)
        self._ready = self._library.llama_sampler_init_grammar(self._vocab, grammar.encode(), b"root")
        if not self._ready:
            raise ValueError("llama.cpp does not take the grammar that was made of the schema")

    def reset(self, most: int | None = None) -> None:
        self._free(self._sampler)
        self._sampler = self._library.llama_sampler_clone(self._ready)

    def _free(self, sampler: Any) -> None:
        if sampler:
            self._library.llama_sampler_free(sampler)

    def mask(self) -> None:
        self._bits[:] = False
        self._bits[self._asked.left_by(self._sampler)] = True
        self._bits[self._text] = self._bits[self._twin[self._text]]

    def words(self) -> np.ndarray | None:
        return np.packbits(self._bits, bitorder="little").view(np.int32)

    def commit(self, token: int) -> bool:
        if not self._bits[token]:
            return False
        self._library.llama_sampler_accept(self._sampler, int(self._twin[token]))
        return True

    def can_stop(self) -> bool:
        return bool(len(self._end.left_by(self._sampler)))

    def nbytes(self) -> int | None:
        return None


class Candidates:
    """Tokens as llama.cpp's samplers take them."""

    def __init__(self, library: Any, tokens: list[int]):
        self._library = library
        self._before = np.zeros(len(tokens), ENTRY)
        self._before["id"] = tokens
        self._entries = self._before.copy()
        data = self._entries.ctypes.data_as(ctypes.POINTER(library.llama_token_data))
        self._array = library.llama_token_data_array(data=data, size=len(tokens), selected=-1, sorted=False)

    def left_by(self, sampler: Any) -> np.ndarray:
        """Those that the sampler does not forbid."""
        self._entries[:] = self._before
        self._library.llama_sampler_apply(sampler, ctypes.byref(self._array))
        found: np.ndarray = self._entries["id"][self._entries["logit"] != -np.inf]
        return found


def load_vocabulary(library: Any, size: int, first: dict[bytes, int], stop: int) -> Any:
    """llama.cpp's vocabulary, by way of a file; ids that nobody asks about get names that no byte-level token can have."""
    from grammarlm.vocab.tokenizers.byte_level import byte_level_text
    from training.gguf import write_vocabulary

    named = {token: byte_level_text(data) for data, token in first.items()}
    tokens = [named.get(token, f"\u3010{token}\u3011") for token in range(size)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary.gguf"
        write_vocabulary(path, tokens, set(range(size)) - named.keys(), stop)
        params = library.llama_model_default_params()
        params.vocab_only = True
        model = library.llama_model_load_from_file(str(path).encode(), params)
    if not model:
        raise RuntimeError("llama.cpp does not load the vocabulary")
    return library.llama_model_get_vocab(model)
