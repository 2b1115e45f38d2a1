"""Answers of agents: thoughts, records, calls and tags are whole, valid and read back as they are, whatever a model wants to write
and however few tokens it has; the events of a stream, put together, are the result.

Texts are read by written_turns.py, which shares no code with what made them.
"""

import random
from collections import Counter
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.generated import as_generated
from tests.counts import record_counts, tiers
from tests.decoding.agents.answers import DEADLINE, FAMILIES, MARKER, Case
from tests.decoding.agents.babbling import babbling, vocabulary
from tests.decoding.agents.written_turns import Said
from tests.decoding.json_rebuilding import check_events

torch = pytest.importorskip("torch")

SPARE = (0, 1, 2, 3, 5, 8, 20, 40, 70, 120)
MARKS = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
    "<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>", "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|channel|>",
    "<|message|>", "<|start|>", "<|end|>",
]  # fmt: skip
PIECES = [
    "<f=record>", "<f=number>", "</f>", "</f", "<f=", "</parameter>", "\n</parameter>", "<tool_ca", "nk>{", "</ think>",
    '": ', '", "arguments": ', "\n<parameter=city>\n", "</arg_value><arg_key>", "get_weather", " to=functions.", "\n\n", "}\n</",
]  # fmt: skip
# ---------------------------------------------------------------------- what is checked of an answer


def written(out: Any, vocab: gl.Vocabulary) -> str:
    """The text with the names of special tokens, which results leave out."""
    return b"".join(map(vocab.token_bytes, out.tokens)).decode()


def check_result(out: Any, read: dict[str, Any] | Said, vocab: gl.Vocabulary) -> None:
    """What the result says is what the reader found."""
    assert (
        out.text
        == b"".join(vocab.token_bytes(token) for token in out.tokens if token not in vocab.special_ids).decode()
    )
    if isinstance(read, Said):
        assert out.reasoning == read.reasoning
        assert [(call.name, call.arguments) for call in out.calls] == list(read.calls)
        assert out.value == read.value or read.value is None
        if read.value is None:
            assert out.content == read.content
    else:
        marks = [vocab.token_bytes(token).decode() for token in vocab.special_ids]
        if "thought" in read and MARKER in marks:
            read["thought"] = read["thought"].removesuffix(MARKER)
        assert out.named == read


def tokens_of_the_thought(out: Any, vocab: gl.Vocabulary) -> int:
    """How many tokens have bytes of what ends with the first marker."""
    end, read = written(out, vocab).encode().index(MARKER.encode()) + len(MARKER), 0
    for count, token in enumerate(out.tokens, 1):
        read += len(vocab.token_bytes(token))
        if read >= end:
            return count
    raise AssertionError("the text is longer than its tokens")


def answer(case: Case, name: str, budget: int, model: Any, prompt: Any, **options: Any) -> str:
    """One answer, as it is streamed; how it ended."""
    sampling = {**options, "grammar": case.grammar, "max_tokens": budget}
    *events, last = gl.stream(model, prompt, **sampling)
    out, vocab = last.result, options["vocab"]
    said = f"{out.finish_reason} {written(out, vocab)!r}"
    where = f"{name}, max_tokens={budget}, {options.get('temperature')}, seed {options['seed']}: {said}"
    assert len(out.tokens) <= budget, where
    assert out.finish_reason in ("stop", "closed"), where
    assert out.error is None, where
    try:
        check_result(out, case.read(written(out, vocab)), vocab)
        check_events(events, out)
    except (AssertionError, KeyError, ValueError) as error:
        raise AssertionError(f"{where}\n{error}") from error
    if options["seed"] % 10 == 0:
        assert gl.generate(model, prompt, **sampling).tokens == out.tokens, where
    if "of few tokens" in name:
        assert tokens_of_the_thought(out, vocab) <= DEADLINE, where
    return str(out.finish_reason)


def answers(family: str, count: int, model: Any, prompt: Any, vocab: gl.Vocabulary, **options: Any) -> Counter[str]:
    """Answers of all cases of a family in turn, with budgets from the least possible up."""
    outcomes, rng = Counter[str](), random.Random(family)
    # In harmony a thought ends with <|end|>, which is the embedded tokenizer's stop token.
    names = [name for name in FAMILIES[family] if "tokenizer" not in options or not name.startswith("harmony")]
    least = {
        name: gl.compile(as_generated(FAMILIES[family][name].grammar), vocab).matcher().min_tokens_left
        for name in names
    }
    for name in names:
        if least[name]:
            with pytest.raises(ValueError, match=rf"max_tokens={least[name] - 1}\b.*\b{least[name]} tokens"):
                gl.generate(
                    model, prompt, grammar=FAMILIES[family][name].grammar, max_tokens=least[name] - 1, vocab=vocab
                )
    for number in range(count):
        name, spare = names[number % len(names)], SPARE[number // len(names) % len(SPARE)]
        sampling = {"temperature": rng.choice([0.0, 0.7, 1.0, 2.0]), "seed": rng.randrange(1000)}
        budget = max(least[name], 1) + spare
        outcomes[answer(FAMILIES[family][name], name, budget, model, prompt, vocab=vocab, **sampling, **options)] += 1
    return outcomes


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("has_marks", [False, True], ids=["letters", "marks"])
@tiers("count", 5, 500)
def test_answers_of_random_weights(family: str, has_marks: bool, count: int, record_property: Any) -> None:
    vocab = vocabulary(PIECES, MARKS) if has_marks else vocabulary([*MARKS, *PIECES])
    outcomes = answers(family, count, babbling(3, vocab), [0], vocab)
    record_counts(record_property, {**outcomes, "answers": outcomes.total()}, cases="answers")


@pytest.mark.parametrize("family", FAMILIES)
@tiers("count", 3, 500)
def test_answers_of_the_embedded_model(family: str, count: int, record_property: Any) -> None:
    model, tokenizer = gl.load_tiny()
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    outcomes = answers(family, count, model, "Two days in Rome.\n", vocab, tokenizer=tokenizer)
    record_counts(record_property, {**outcomes, "answers": outcomes.total()}, cases="answers")
