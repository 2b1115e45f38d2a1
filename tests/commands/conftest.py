"""The random model and its tokenizer, as in the tests of decoding; folders with it and with a masked model; lines of a command."""

from tests.commands.command_line import folder_of_a_masked_model, model_folder
from tests.decoding.conftest import model, one_thread, softmaxes_in_float64, tokenizer

__all__ = ["folder_of_a_masked_model", "model", "model_folder", "one_thread", "softmaxes_in_float64", "tokenizer"]
