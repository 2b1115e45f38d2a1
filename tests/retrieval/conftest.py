"""The random model and its tokenizer, as in the tests of decoding."""

from tests.decoding.conftest import model, one_thread, tokenizer

__all__ = ["model", "one_thread", "tokenizer"]
