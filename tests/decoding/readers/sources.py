"""Models of every kind that readers are for, and what one forward over one whole text says of them."""

import random

import pytest
from transformers import PreTrainedTokenizerFast

import grammarlm as gl
from grammarlm.decoding.readers.adapted import AdaptedReader
from grammarlm.decoding.readers.blended import BlendedReader
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import open_reader
from grammarlm.decoding.readers.switching import SwitchingReader
from tests.decoding.byte_model.toys import tabled, toy
from tests.decoding.random_models import encoder_decoder, random_model
from tests.rounding import assert_logits, embedded_model

torch = pytest.importorskip("torch")

WIDTH = 40
ROOM = 60
CAUSAL = {
    "Llama": {},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "Qwen2": {},
    "Mistral": {"sliding_window": 4},
    "Gemma2": {"sliding_window": 4},
    "Gemma3Text": {"sliding_window": 4},
    "Mamba": {},
    "Mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 2, "state_size": 16, "chunk_size": 4},
    "FalconMamba": {"state_size": 8},
    "Bamba": {
        "attn_layer_indices": [1],
        "mamba_n_heads": 8,
        "mamba_d_head": 8,
        "mamba_n_groups": 2,
        "mamba_d_state": 16,
        "mamba_chunk_size": 4,
    },
    "Bloom": {"n_layer": 2, "n_head": 4},
}
STATIC = ("Llama", "GPT2", "Mistral")
SOURCES = [
    *CAUSAL,
    *(f"{kind} static" for kind in STATIC),
    "Llama off",
    "T5",
    "Bart",
    "embedded",
    "callable",
    "blend",
    "switch",
    "adapted",
    "bytes",
]


def bare(ids):
    """Logits that depend on every id before, and on their order."""
    scaled = (ids.float() + 1).cumsum(1) * torch.arange(1, ids.shape[1] + 1)
    return torch.sin(scaled[..., None] * torch.arange(1, WIDTH + 1) / 7.0)


class Wandering(SwitchingReader):
    """Asks one of its models at random."""

    def __init__(self, choose, *arguments):
        super().__init__(*arguments)
        self.choose = choose

    def read(self, chunks, scored):
        self.chosen = [self.choose.randrange(2) for _ in chunks]
        return super().read(chunks, scored)

    def read_trees(self, chunks, scored, trees):
        self.chosen = [self.choose.randrange(2) for _ in chunks]
        return super().read_trees(chunks, scored, trees)


class Source:
    """A model, a reader of it, and what one forward over one whole text says: the oracle, which has neither cache nor pads."""

    def __init__(self, name: str):
        kind, _, self.cache = name.partition(" ")
        self.kind, self.width = kind, WIDTH
        if kind in ("T5", "Bart"):
            self.model = encoder_decoder(kind, WIDTH)
        elif kind == "embedded":
            self.model = embedded_model()[0]
            self.width = self.model.config.vocab_size
        elif kind in ("callable", "blend"):
            self.model = bare
        elif kind == "bytes":
            tokenizer = toy(
                range(256), [(bytes([at]), bytes([at + 1])) for at in range(5, 30)] + [(b"\x05\x06", b"\x07\x08")]
            )
            model = tabled(tokenizer.get_vocab_size(), 3)
            self.model = gl.ByteModel(model, PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>"))
            self.width = 257
        elif kind in ("switch", "adapted"):
            self.model = random_model("Llama", WIDTH)
        else:
            if not hasattr(pytest.importorskip("transformers"), f"{kind}Config"):
                pytest.skip(f"this version of transformers has no {kind}")
            self.model = random_model(kind, WIDTH, **CAUSAL[kind])
        self.other = random_model("Llama", WIDTH) if kind == "blend" else None
        self.choose = random.Random(name)

    def reader(self, prompts):
        if self.kind == "switch":
            openers = [
                lambda each: open_reader(self.model, each, ROOM),
                lambda each: open_reader(self.model, each, ROOM, "off"),
            ]
            return Wandering(self.choose, openers, [(prompt, prompt) for prompt in prompts])
        if self.kind == "adapted":
            opener = lambda each: open_reader(self.model, each, ROOM)  # noqa: E731
            return AdaptedReader(self.model, opener, prompts, lambda *seen: self.choose.random() < 0.5, 2)
        reader = open_reader(self.model, prompts, ROOM, self.cache or None)
        if self.other is None:
            return reader
        # The other model has a prompt of its own.
        return BlendedReader([reader, open_reader(self.other, [[3, 4]] * len(prompts), ROOM)], torch.add, "sum")

    @torch.no_grad()
    def oracle(self, prompt, answer):
        """The logits after the beginning and after each id of the answer."""
        if self.kind in ("T5", "Bart"):
            ids = torch.tensor([[self.model.config.decoder_start_token_id, *answer]])
            return self.model(input_ids=torch.tensor([prompt]), decoder_input_ids=ids, use_cache=False).logits[0]
        ids = torch.tensor([[*prompt, *answer]])
        if self.kind == "bytes":
            return self.model(ids)[0, len(prompt) - 1 :]
        if self.kind in ("callable", "blend"):
            logits = bare(ids)[0, len(prompt) - 1 :]
            if self.other is None:
                return logits
            return logits + self.other(torch.tensor([[3, 4, *answer]]), use_cache=False).logits[0, 1:]
        return self.model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 :]


def some_tree(choose):
    tree = DraftTree()
    for node in range(choose.randint(0, 6)):
        tree.add(choose.randrange(5, WIDTH), choose.choice([node - 1, choose.randint(-1, node - 1)]))
    return tree


def check(logits, source, texts):
    """The logits of (prompt, answer, scored, tree) against forwards over whole texts; they are the caller's."""
    expected = []
    for prompt, answer, count, tree in texts:
        expected.append(source.oracle(prompt, answer)[len(answer) + 1 - count :])
        expected += [source.oracle(prompt, [*answer, *tree.tokens_to(node)])[-1:] for node in range(len(tree))]
    expected = torch.cat(expected)
    assert logits.shape == expected.shape
    assert logits.dtype == torch.float32
    assert_logits(logits, expected)
    logits.fill_(float("nan"))


def reorder(choose, reader, prompts, answers):
    """Drops, repeats and reorders texts."""
    texts = [choose.randrange(len(prompts)) for _ in range(choose.randint(1, 4))]
    reader.select(texts)
    return [prompts[i] for i in texts], [list(answers[i]) for i in texts]


def go_back(choose, reader, prompts, answers):
    """Some of the texts, or all, lose some of their last ids, or all."""
    share = choose.choice([0.5, 1.0])
    counts = [choose.randint(0, len(answer)) if choose.random() < share else 0 for answer in answers]
    reader.rollback(counts)
    return prompts, [answer[: len(answer) - count] for answer, count in zip(answers, counts, strict=True)]


def more(choose, answers):
    """Chunks of one length, or of lengths from 0 to 5, and how many logits of each are asked for."""
    equal = choose.randint(1, 3)
    lengths = [equal if choose.random() < 0.5 else choose.randint(0, 5) for _ in answers]
    if choose.random() < 0.4:
        lengths = [equal] * len(answers)
    lengths[choose.randrange(len(lengths))] = equal
    chunks = [[choose.randrange(5, WIDTH) for _ in range(length)] for length in lengths]
    scored = [choose.randint(0, length) for length in lengths]
    if not any(scored):
        scored[lengths.index(max(lengths))] = 1
    return chunks, scored
