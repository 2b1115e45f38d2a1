"""Byte-level BPEs that are small enough to list all spellings of a text, models of their tokens, and the law by enumeration."""

import math
import random

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import grammarlm as gl
from grammarlm.vocab.tokenizers.byte_level import byte_level_text


def toy(alphabet, merges):
    """A tokenizer of these bytes, with these pairs of merged texts, in their order; its last id ends a text."""
    spelled = [*(byte_level_text(bytes([byte])) for byte in alphabet)]
    pairs = [(byte_level_text(one), byte_level_text(two)) for one, two in merges]
    spelled += [one + two for one, two in pairs]
    tokenizer = Tokenizer(models.BPE({text: at for at, text in enumerate(dict.fromkeys(spelled))}, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["</s>"])
    return tokenizer


TOYS = {
    "one merge": toy(b"ab", [(b"a", b"b")]),
    "runs": toy(b"ab", [(b"a", b"a"), (b"aa", b"aa"), (b"b", b"a")]),
    "nested": toy(b"abc", [(b"b", b"c"), (b"a", b"bc"), (b"abc", b"a"), (b"c", b"a"), (b"c", b"b")]),
}


def tabled(width, seed, deviation=2.0):
    """Logits of tokens that depend on the last two."""
    table = torch.randn(width + 1, width, width, generator=torch.Generator().manual_seed(seed)).double() * deviation

    def model(ids):
        before = torch.cat([torch.full_like(ids[:, :1], width), ids[:, :-1]], 1)
        return table[before, ids]

    return model


class Enumerated:
    """The law of texts by all sequences of tokens of which the tokenizer writes each pair itself."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        self.stop = tokenizer.token_to_id("</s>")
        self.data = [
            gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=[self.stop]).token_bytes(at) for at in range(self.stop)
        ]
        self.spellings = 0

    def may_follow(self, tokens, token):
        pair = [*tokens[-1:], token]
        return self.tokenizer.encode(b"".join(self.data[each] for each in pair).decode()).ids == pair

    def next_token(self, tokens):
        """Of each token its probability after these; the stop last."""
        row = self.model(torch.tensor([[self.stop, *tokens]]))[0, -1].tolist()
        masses = [math.exp(row[token]) if self.may_follow(tokens, token) else 0.0 for token in range(self.stop)]
        masses.append(math.exp(row[self.stop]))
        return [mass / sum(masses) for mass in masses]

    def mass(self, text, tokens=(), is_end=False):
        """The probability that the model goes on with a text that begins so; `is_end`: that is this text."""
        law = self.next_token(tokens)
        if not text:
            self.spellings += 1
            return law[self.stop] if is_end else 1.0
        found = 0.0
        for token, data in enumerate(self.data):
            if not law[token]:
                continue
            if text.startswith(data):
                found += law[token] * self.mass(text[len(data) :], (*tokens, token), is_end)
            elif data.startswith(text) and not is_end:
                self.spellings += 1
                found += law[token]
        return found


def some_text(choose, alphabet, longest):
    return bytes(choose.choice(alphabet) for _ in range(choose.randint(1, longest)))


def seeded(name):
    return random.Random(name)
