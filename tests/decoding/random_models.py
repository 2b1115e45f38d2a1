"""Tiny models of the kinds that transformers knows, with random weights in float64 (see tests/rounding.py)."""

from functools import wraps

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def random_model(kind: str, width: int, **options):
    """A tiny model of a kind that transformers knows, with weights large enough for distributions that are not flat."""
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
    return transformers.AutoModelForCausalLM.from_config(config).double().eval()


def encoder_decoder(kind, width):
    """A tiny T5 or Bart."""
    torch.manual_seed(0)
    shared = {"vocab_size": width, "d_model": 32, "decoder_start_token_id": 0, "eos_token_id": 2, "pad_token_id": 0}
    if kind == "T5":
        config = transformers.T5Config(**shared, d_kv=8, d_ff=64, num_layers=2, num_heads=4, initializer_factor=1.0)
    else:
        sizes = dict.fromkeys(("encoder_layers", "decoder_layers"), 2) | dict.fromkeys(
            ("encoder_attention_heads", "decoder_attention_heads"), 4
        )
        config = transformers.BartConfig(**shared, **sizes, encoder_ffn_dim=64, decoder_ffn_dim=64, init_std=0.3)
    return transformers.AutoModelForSeq2SeqLM.from_config(config).double().eval()


def given_cache(options):
    """The key-value cache among the options or outputs of a forward, by the name that this release of transformers has for it."""
    names = (name for name in ("cache", "past_key_values", "cache_params") if name in options)
    return options.get(next(names, None))


class Forwards:
    """Watches a model: of each forward the shape of its ids, and how many slots its key-value cache has before."""

    def __init__(self, model):
        self.shapes, self.cached = [], []
        forward = model.forward

        @wraps(forward)
        def counting(input_ids, **options):
            self.shapes.append(tuple(input_ids.shape))
            cache = given_cache(options)
            self.cached.append(0 if cache is None else cache.get_seq_length())
            return forward(input_ids=input_ids, **options)

        model.forward = counting
