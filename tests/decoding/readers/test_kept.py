"""Texts kept from call to call: the logits are those of whole prompts, and what they have in common is not read again."""

import asyncio
import random

import pytest

import grammarlm as gl
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.kept import LEAST, KeptTexts
from grammarlm.decoding.readers.reader import open_reader
from tests.counts import tiers
from tests.decoding.random_models import random_model
from tests.decoding.readers.sources import CAUSAL, ROOM, WIDTH, Source, check

torch = pytest.importorskip("torch")

KINDS = [*CAUSAL, "embedded", "callable", "T5"]
CUT = ("Llama", "GPT2", "Qwen2", "embedded")  # whose caches can be cut


def ids_of(choose, count):
    return [choose.randrange(5, WIDTH) for _ in range(count)]


def follow_up(choose, texts):
    """A prompt that goes on from a text before, or leaves it somewhere, or is new."""
    if not texts or choose.random() < 0.2:
        return ids_of(choose, choose.randint(1, 40))
    text = choose.choice(texts)
    return [*text[: choose.choice([len(text), choose.randint(0, len(text))])], *ids_of(choose, choose.randint(1, 5))]


@pytest.mark.parametrize("kind", KINDS)
@tiers("count", 2, 20)
def test_the_logits_are_those_of_whole_prompts(kind, count):
    source, choose = Source(kind), random.Random(kind)
    for _ in range(count):
        kept, texts = KeptTexts(source.model, 3), []
        for _ in range(4):
            prompts = [follow_up(choose, texts) for _ in range(choose.choice([1, 1, 3]))]
            reader = open_reader(source.model, prompts, ROOM, kept)
            logits, answers = reader.read(reader.beginnings, [1] * len(prompts)), [[] for _ in prompts]
            for _ in range(3):
                trees = [DraftTree()] * len(prompts)
                check(logits, source, list(zip(prompts, answers, [1] * len(prompts), trees, strict=True)))
                chunks = [ids_of(choose, 1) for _ in prompts]
                answers = [[*answer, *chunk] for answer, chunk in zip(answers, chunks, strict=True)]
                logits = reader.read(chunks, [1] * len(prompts))
            kept.add(reader, range(len(prompts)))
            texts += [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
            assert len(kept) <= 3


@pytest.mark.parametrize("kind", CUT)
def test_what_is_in_common_is_not_read_again(kind):
    source, choose = Source(kind), random.Random(kind)
    kept, text = KeptTexts(source.model, 2), ids_of(choose, 40)
    reader = open_reader(source.model, [text], ROOM, kept)
    assert reader.beginnings == [text]
    reader.read(reader.beginnings, [1])
    kept.add(reader, [0])
    other = ids_of(choose, 30)
    prompts = [[*text, 7, 8], text, [*text[:20], 1, *other], text[: LEAST - 1], other]
    beginnings = open_reader(source.model, prompts, ROOM, kept).beginnings
    assert beginnings == [[7, 8], text[-1:], [1, *other], text[: LEAST - 1], other]


def test_a_text_replaces_the_one_that_it_goes_on_from():
    model, kept = random_model("Llama", WIDTH), KeptTexts(random_model("Llama", WIDTH), 2)
    kept = KeptTexts(model, 2)
    for length in (20, 30, 40):
        reader = open_reader(model, [list(range(length))], ROOM, kept)
        reader.read(reader.beginnings, [1])
        kept.add(reader, [0])
    assert len(kept) == 1
    kept.clear()
    assert len(kept) == 0


def test_other_weights_drop_what_was_kept():
    model = random_model("Llama", WIDTH)
    kept, text = KeptTexts(model, 2), list(range(5, 35))
    for change in (lambda weight: weight.mul_(2), lambda weight: weight.set_(weight.clone())):
        reader = open_reader(model, [text], ROOM, kept)
        assert reader.beginnings == [text]
        reader.read(reader.beginnings, [1])
        kept.add(reader, [0])
        assert open_reader(model, [text], ROOM, kept).beginnings == [text[-1:]]
        with torch.no_grad():
            change(next(model.parameters()))


def read_ids(model, monkeypatch):
    """How many ids each forward reads: a list that grows."""
    read, forward = [], type(model).forward

    def counting(self, *args, **options):
        read.append(options["input_ids"].numel())
        return forward(self, *args, **options)

    counting.__wrapped__ = forward
    monkeypatch.setattr(type(model), "forward", counting)
    return read


def test_the_next_turn_of_a_conversation_reads_what_is_new(monkeypatch):
    model, _ = gl.load_tiny()
    read = read_ids(model, monkeypatch)
    chat, plain = gl.Generator(model, max_tokens=12), gl.Generator(model, keep=0, max_tokens=12)
    messages = [{"role": "user", "content": "Ada, 36, lives in Rome and likes long walks. " * 4}]
    for turn in range(3):
        del read[:]
        mine = chat(messages)
        own = list(read)
        del read[:]
        assert plain(messages).text == mine.text
        if turn:
            assert own[0] < 0.25 * read[0]
        assert own[1:] == read[1:]
        messages += [mine.message, {"role": "user", "content": "And Tom?"}]


def test_an_awaited_turn_reads_what_is_new(monkeypatch):
    model, _ = gl.load_tiny()
    read = read_ids(model, monkeypatch)
    chat = gl.Generator(model, max_tokens=12)
    messages = [{"role": "user", "content": "Ada, 36, lives in Rome and likes long walks. " * 4}]

    async def turn():
        del read[:]
        messages.append((await chat.agenerate(messages)).message)
        messages.append({"role": "user", "content": "And Tom?"})
        return read[0]

    whole, *new = [asyncio.run(turn()) for _ in range(3)]
    assert max(new) < 0.25 * whole


def test_texts_of_a_batch_are_kept_as_they_end(monkeypatch):
    model, _ = gl.load_tiny()
    read = read_ids(model, monkeypatch)
    generator = gl.Generator(model, regex="[a-z]{3}|[0-9]{9}", keep=2)
    prompts = ["Ada, 36, lives in Rome and likes long walks. ", "Tom, 41, lives in Oslo and likes long walks. "]
    first = generator(prompts)
    del read[:]
    again = generator([prompts[1] + "He", prompts[0] + "She"])
    assert read[0] < 20
    assert len(first) == len(again) == 2
    generator.clear()
    del read[:]
    generator(prompts)
    assert read[0] > 20


def test_keep_is_a_number():
    model, _ = gl.load_tiny()
    with pytest.raises(ValueError, match="keep"):
        gl.Generator(model, keep=-1)
