"""Any function from ids to logits is a model: here one that likes every byte as well as any other.

Twelve draws from a grammar that two grammars make: dates, without those in which a month has no such day.
"""

import torch

import grammarlm as gl

vocab = gl.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], stop_ids=[256])
dates = gl.Regex(r"20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
no_such_day = gl.Regex(r".*-(02-3.|(04|06|09|11)-31)")


def model(ids: torch.Tensor) -> torch.Tensor:
    """[B, T] -> [B, T, V]"""
    return torch.zeros(*ids.shape, vocab.size)


for seed in range(12):
    out = gl.generate(model, [0], vocab=vocab, grammar=dates - no_such_day, temperature=1.0, seed=seed)
    print(out.value)
