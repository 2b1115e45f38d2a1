"""Models and grammars that drafts are tried on: random ones whose texts are varied, and whose logits have no near ties."""

import copy

import numpy as np
import pytest

import grammarlm as gl
from tests.decoding.random_models import encoder_decoder, random_model

torch = pytest.importorskip("torch")

PIECES = [
    b"tr",
    b"ue",
    b"true",
    b"fal",
    b"se",
    b'":',
    b'{"',
    b'","',
    b"},",
    b"12",
    b"00",
    b"re",
    b"red",
    b"dish",
    b"\xc3\xa9",
    b", ",
]
TOKENS = [b"<pad>", b"<s>", *(bytes([i]) for i in range(256)), *PIECES, b"</s>"]
STOP = len(TOKENS) - 1
WIDTH = len(TOKENS)
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[STOP], special_ids=[0, 1, STOP])
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "many": {"type": "integer"}, "ok": {"type": "boolean"}},
    "required": ["name", "many", "ok"],
    "additionalProperties": False,
}
SELECT = (
    'start: "select " NAME ("," NAME)* " from " NAME (" where " NAME "=" NUM)?\nNAME: /[a-d]{1,5}/\nNUM: /[0-9]{1,3}/\n'
)
GRAMMARS = {
    "none": None,
    "schema": gl.JsonSchema(SCHEMA),
    "regex": gl.Regex("((true|false|[0-9]{2}), ){3,40}é"),
    "sql": gl.Lark(SELECT),
    "items": gl.Tokens([[262, 268, 5], [262, 268], [262, 9, 9, 9], [40, 41, 42, 43, 44, 45], [41], [40, 41, 42, 50]]),
}
MAMBA_2 = {"num_heads": 8, "head_dim": 8, "n_groups": 2, "state_size": 16, "chunk_size": 16}
SPREAD = 6.0  # of the logits: no rounding decides


def mixed(states: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """States of a hash with one more id each."""
    return (states * 1103515245 + ids * 12820163 + 12345) % 2147483647


class HashModel:
    """A causal model without weights: the logits after a position are picked by a hash of the last `window` ids, or of all."""

    def __init__(self, seed: int, window: int | None = None, width: int = WIDTH):
        self.table = torch.randn(1024, width, generator=torch.Generator().manual_seed(seed)) * 2
        self.table[:, -1] += 1.0
        self.window, self.calls = window, 0

    def __call__(self, ids):
        self.calls += 1
        given = ids.numpy().astype(np.int64)
        # Column by column: the state of a place starts again `window` ids before it, or goes on from the place before.
        states = np.full(given.shape, 7, np.int64)
        if self.window:
            for back in range(self.window - 1, -1, -1):
                states[:, back:] = mixed(states[:, back:], given[:, : given.shape[1] - back])
        else:
            for at in range(given.shape[1]):
                states[:, at] = mixed(states[:, at - 1] if at else states[:, at], given[:, at])
        return self.table[torch.from_numpy(states >> 4) % len(self.table)]


def is_odd(ids):
    """One of five."""
    return (ids * 2654435761 >> 7) % 5 == 0


class Agreeing:
    """A draft model that says what the target says, but after every fifth id or so."""

    def __init__(self, target, other):
        self.target, self.other = copy.copy(target), other

    def __call__(self, ids):
        return torch.where(is_odd(ids)[..., None], self.other(ids), self.target(ids))


class Sure:
    """A draft model that gives its best token, always the same one, the probability p."""

    def __init__(self, p, token=77):
        self.logits = torch.zeros(WIDTH)
        self.logits[token] = np.log(p / (1 - p) * (WIDTH - 4))  # three ids are special

    def __call__(self, ids):
        return self.logits.expand(*ids.shape, WIDTH)


def spread(model, **inputs):
    """The same model with logits of standard deviation SPREAD, in float64."""
    model.double()
    with torch.no_grad():
        deviation = model(**inputs).logits.std()
        model.get_output_embeddings().weight.data = model.get_output_embeddings().weight * (SPREAD / deviation)
    model.generation_config.eos_token_id = STOP
    return model


def transformers_model(kind: str):
    ids = torch.randint(2, STOP, (4, 20), generator=torch.Generator().manual_seed(1))
    if kind == "T5":
        return spread(encoder_decoder("T5", WIDTH), input_ids=ids, decoder_input_ids=ids)
    options = {"Mistral": {"sliding_window": 6}, "Gemma3Text": {"sliding_window": 6}, "Mamba2": MAMBA_2}.get(kind, {})
    untied = {} if kind == "Mamba" else {"tie_word_embeddings": False}
    return spread(random_model(kind, WIDTH, eos_token_id=STOP, **options, **untied), input_ids=ids)


def prompts(count: int, seed: int) -> list[list[int]]:
    """Of different lengths; half of them repeat themselves, so that look-ups find something."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        prompt = rng.integers(2, STOP, int(rng.integers(1, 10))).tolist()
        found.append(prompt * 2 + prompt[:1] if number % 2 else prompt)
    return found


def deep(kind="Llama"):
    """Six layers, of which the last four change little: an exit after two is often right."""
    sliding = {"sliding_window": 6} if kind in ("Mistral", "Gemma3Text") else {}
    model = random_model(
        kind, WIDTH, num_hidden_layers=6, eos_token_id=STOP, tie_word_embeddings=False, **sliding
    ).double()
    with torch.no_grad():
        for layer in (model.model.layers if hasattr(model, "model") else model.transformer.h)[2:]:
            for name, weight in layer.named_parameters():
                if name.endswith(("o_proj.weight", "down_proj.weight", "c_proj.weight")):
                    weight.data *= 0.2
        model.get_output_embeddings().weight *= 3
    return model


def random_ahead(seed):
    """A small recurrent network with random weights: of all states, and what has been said since."""
    generator = torch.Generator().manual_seed(seed)
    mix, embed = (torch.randn(*size, generator=generator, dtype=torch.float64) for size in ((32, 32), (WIDTH, 32)))

    def ahead(seen, said):
        state = (seen.states[-1] + 0.1 * seen.states.mean(0)).expand(len(said), -1)
        if seen.after is not None:
            state = state + seen.after.sum(0)
        for ids in said.T:
            state = torch.tanh(state @ mix + embed[ids])
        return state

    return ahead
