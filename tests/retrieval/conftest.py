"""The random model and its tokenizer, as in the tests of decoding."""

from tests.decoding.conftest import model, one_thread, softmaxes_in_float64, tokenizer

__all__ = ["model", "one_thread", "softmaxes_in_float64", "tokenizer"]
