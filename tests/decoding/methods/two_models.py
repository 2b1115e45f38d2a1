"""Two callable models of five ids, and languages over them that are listed: what blends are compared with, step by step."""

import numpy as np
import pytest
import torch

import grammarlm as gl
from tests.rounding import LOG_P

LETTERS, STOP, WIDTH = "abcd", 4, 5
VOCAB = gl.Vocabulary([*(letter.encode() for letter in LETTERS), b""], stop_ids=[STOP])
TEXTS = ["abc", "abd", "ac", "bada", "bb", "c", "cab", "cad", "dddd", "ddda"]
SCHEMA = {  # for models of a tokenizer
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 99}, "name": {"type": "string", "maxLength": 6}},
    "required": ["age", "name"],
    "additionalProperties": False,
}


def tabled(seed, deviation=2.0):
    """Logits that depend on the last two ids."""
    table = torch.randn(WIDTH + 1, WIDTH, WIDTH, generator=torch.Generator().manual_seed(seed)) * deviation

    def model(ids):
        before = torch.cat([torch.full_like(ids[:, :1], WIDTH), ids[:, :-1]], 1)
        return table[before, ids]

    return model


def row_after(model, ids):
    """float64 [V]: the logits after these ids."""
    return model(torch.tensor([list(ids)]))[0, -1].double().numpy()


def allowed_after(texts, tokens):
    """bool [V]: what may follow, by the list; a text of which no other begins so ends without being asked."""
    begun = "".join(LETTERS[token] for token in tokens)
    found = np.zeros(WIDTH, bool)
    for text in texts:
        if text == begun:
            found[STOP] = True
        elif text.startswith(begun):
            found[LETTERS.index(text[len(begun)])] = True
    return found


def softmax(row):
    p = np.exp(row - row.max())
    return p / p.sum()


def log_softmax(row):
    with np.errstate(divide="ignore"):
        return np.log(softmax(row))


def greedy(score, texts=TEXTS):
    """The tokens of the greedy answer: score(tokens, allowed) is the row to take the best of."""
    tokens = []
    while True:
        allowed = allowed_after(texts, tokens)
        token = int(np.where(allowed, score(tokens, allowed), -np.inf).argmax())
        if token == STOP:
            return tokens
        tokens.append(token)


FIRST, OTHER = tabled(1), tabled(2)
PROMPTS = [[0, 1], [2], [3, 0, 2]]


def generate(method, prompts=PROMPTS, model=FIRST, **options):
    return gl.generate(model, prompts, **{"vocab": VOCAB, "choices": TEXTS, "method": method, **options})


def same(found, expected):
    assert found.tokens == expected.tokens
    for name in ("logprobs", "model_logprobs"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=0, abs=LOG_P), name
    assert found.stats.mass_removed == pytest.approx(expected.stats.mass_removed, rel=0, abs=LOG_P)
    assert (found.finish_reason, found.value, found.error) == (expected.finish_reason, expected.value, expected.error)


def wrong_after(value, ids_of_value, model=OTHER):
    """A model whose logits go wrong in texts that begin with 2, after two ids."""

    def found(ids):
        logits = model(ids).clone()
        for row, text in enumerate(ids.tolist()):
            if text[0] == 2 and len(text) > 1:
                logits[row, 1:, ids_of_value] = value
        return logits

    return found
