"""A random causal model and a small byte-level tokenizer: nothing here depends on trained weights."""

import pytest

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


def random_model(kind: str, width: int, **options):
    """A tiny model of a kind that transformers knows, with weights large enough for distributions that are not flat."""
    import transformers

    torch.manual_seed(0)
    settings = {
        "vocab_size": width,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "initializer_range": 0.3,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        **options,
    }
    config = getattr(transformers, f"{kind}Config")(**settings)
    return transformers.AutoModelForCausalLM.from_config(config).eval()
