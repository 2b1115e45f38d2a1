"""A random causal model and a small byte-level tokenizer: nothing here depends on trained weights."""

import pytest

from tests.decoding.random_models import random_model

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SPECIAL = ["<pad>", "<s>", "</s>", "<eot>"]


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Models this small only wait for each other on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session", autouse=True)
def softmaxes_in_float64():
    """transformers' eager attention asks for float32, in which the lowest float64, of what is masked, is -inf: pads get NaN."""
    softmax = torch.nn.functional.softmax

    def kept(given, dim=None, dtype=None, **options):
        return softmax(given, dim=dim, dtype=None if given.dtype == torch.float64 else dtype, **options)

    torch.nn.functional.softmax = kept
    yield
    torch.nn.functional.softmax = softmax


@pytest.fixture(scope="session")
def tokenizer():
    """295 tokens: 4 special ones, all bytes, and some merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(["the cat and the hat sat at 2024-10-12 in a 100 year old café"] * 10, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


@pytest.fixture(scope="session")
def model(tokenizer):
    return random_model("Llama", len(tokenizer))
