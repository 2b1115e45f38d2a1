"""gl.LogitsProcessor: by hand against lists of texts, and in transformers' own generate against a processor without memory."""

import json

import jsonschema
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from hypothesis import HealthCheck, example, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import grammarlm as gl  # noqa: E402
from tests.decoding.random_models import random_model  # noqa: E402
from tests.integrations.listed_languages import (  # noqa: E402
    LANGUAGES,
    PAD,
    START,
    STOPS,
    TEXT_IDS,
    TOKENS,
    VOCAB,
    WIDTH,
    FromScratch,
    Listed,
)

SPECIAL = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": STOPS}
A, B, C, X = (TOKENS.index(c) for c in (b"a", b"b", b"c", b"x"))
MODES = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "temperature": 1.5, "top_k": 0},
    "top-k and top-p": {"do_sample": True, "top_k": 3, "top_p": 0.9},
    "four samples a prompt": {"do_sample": True, "num_return_sequences": 4},
    "three beams": {"do_sample": False, "num_beams": 3},
    "five beams, two returned": {"do_sample": False, "num_beams": 5, "num_return_sequences": 2},
    "sampled beams": {"do_sample": True, "num_beams": 4},
    "no cache": {"do_sample": False, "use_cache": False},
}


@pytest.fixture(scope="module")
def llama():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield random_model("Llama", WIDTH, max_position_embeddings=256, **SPECIAL)
    torch.set_num_threads(before)


def left_padded(prompts: list[list[int]]) -> dict[str, torch.Tensor]:
    width = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (width - len(p)) + p for p in prompts])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


PROMPTS = left_padded([[START, A, B, X], [START, C], [START, X, X, A, B, A]])
WIDE = PROMPTS["input_ids"].shape[1]


def generated(model, processor, prompts=PROMPTS, **options) -> torch.Tensor:
    torch.manual_seed(3)
    return model.generate(**prompts, max_new_tokens=10, logits_processor=[processor], pad_token_id=PAD, **options)


@st.composite
def uses(draw) -> list[tuple[list[int], ...]]:
    """The ids of several uses of a processor, call by call: rows go on, change places, fall back; then other prompts come."""
    calls = []
    for _ in range(draw(st.integers(1, 3))):
        count, width = draw(st.sampled_from([2, 4])), draw(st.integers(1, 4))
        prompts = [
            [START, *draw(st.lists(st.sampled_from(TEXT_IDS), min_size=width, max_size=width))] for _ in range(2)
        ]
        rows = [prompts[at * 2 // count] for at in range(count)]
        calls.append((len(prompts[0]), rows))
        for _ in range(draw(st.integers(0, 7))):
            back = draw(st.integers(0, 3)) if draw(st.integers(0, 4)) == 0 else 0  # drafts taken back
            rows = [row[: max(len(prompts[0]), len(row) - back)] for row in rows]
            each = count // 2
            places = [at // each * each + draw(st.integers(0, each - 1)) for at in range(count)]
            rows = [
                [*rows[at], draw(continuation(rows[at][len(prompts[0]) :], LANGUAGES[at // each]))] for at in places
            ]
            calls.append((len(prompts[0]), rows))
    return calls


def continuation(ids: list[int], language: Listed) -> st.SearchStrategy[int]:
    """Mostly what may follow, sometimes any id."""
    fine = st.sampled_from(sorted(language.allowed(ids)))
    return st.one_of(fine, fine, fine, st.sampled_from([PAD, *TEXT_IDS, *STOPS]))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(uses())
@example([(2, [[START, A], [START, A]]), (3, [[START, A, A], [START, A, A]])])  # a prompt that continues the last one
def test_rows_are_followed_by_content(calls) -> None:
    processor, last = gl.LogitsProcessor([language.constraint for language in LANGUAGES[:2]]), [set(), set()]
    for prompt, rows in calls:
        of_prompts = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
        if len(rows[0]) == prompt:
            pairs = zip(of_prompts, last, strict=True)
            if all(tuple(row[:-1]) in prefixes for each, prefixes in pairs for row in each):
                processor.reset()  # new prompts that look like rows of the last use, continued: as its docstring says
            last = [set(), set()]
        for each, prefixes in zip(of_prompts, last, strict=True):
            prefixes |= {tuple(row[:end]) for row in each for end in range(len(row) + 1)}
        scores = torch.randn(len(rows), WIDTH)
        kept, want = scores.clone(), FromScratch(LANGUAGES[:2], prompt)(torch.tensor(rows), scores)
        assert torch.equal(processor(torch.tensor(rows), scores), want)
        assert torch.equal(scores, kept)  # generate may keep them as raw logits


def test_prompts_one_token_longer_and_prompts_that_hold_the_last_answer() -> None:
    language = LANGUAGES[0]
    processor = gl.LogitsProcessor(language.constraint)
    for prompt, answer in (([START, X], [A, B]), ([START, C, C, A], [C]), ([START, C, C, A, C, START, X], [A, A])):
        for n in range(len(answer) + 1):
            masked = processor(torch.tensor([prompt + answer[:n]]), torch.zeros(1, WIDTH))
            assert set(torch.nonzero(masked[0] == 0).flatten().tolist()) == language.allowed(answer[:n])


def test_a_prompt_that_looks_like_a_continuation_needs_reset() -> None:
    language = LANGUAGES[0]
    processor, first, second = gl.LogitsProcessor(language.constraint), [[START, X]], [[START, X, A]]
    for prompt, after, resets in ((first, [], False), (second, [A], False), (second, [], True)):
        if resets:
            processor.reset()
        masked = processor(torch.tensor(prompt), torch.zeros(1, WIDTH))
        assert set(torch.nonzero(masked[0] == 0).flatten().tolist()) == language.allowed(after)


def test_where_others_forbid_all_that_is_allowed_the_constraint_prevails() -> None:
    language, scores = LANGUAGES[0], torch.randn(2, WIDTH)
    scores[0, sorted(language.allowed([]))] = -torch.inf
    masked = gl.LogitsProcessor(language.constraint)(torch.tensor([[START], [START]]), scores)
    assert set(torch.nonzero(masked[0] == 0).flatten().tolist()) == language.allowed([])
    assert torch.isneginf(masked[0]).sum() == WIDTH - len(language.allowed([]))
    assert torch.equal(masked[1:], FromScratch([language], 1)(torch.tensor([[START]]), scores[1:]))
    free = gl.LogitsProcessor([None, language.constraint])(
        torch.tensor([[START], [START]]), torch.full((2, WIDTH), -torch.inf)
    )
    assert torch.isneginf(free[0]).all()  # a row without a constraint is not ours


def test_wrong_arguments_are_named() -> None:
    regex, processor = gl.Regex("a"), gl.LogitsProcessor([LANGUAGES[0].constraint] * 2)
    other = gl.compile(regex, gl.Vocabulary([b"a", b""], stop_ids=[1]))
    for wrong, error, message in (
        (regex, TypeError, "constraint is Regex; it takes what gl.compile"),
        (None, TypeError, "constraint is NoneType"),
        ([None, regex], TypeError, "constraint holds Regex"),
        ([], ValueError, "empty list"),
        ([LANGUAGES[0].constraint, other], ValueError, "vocabularies of 2 and 48 tokens"),
    ):
        with pytest.raises(error, match=message):
            gl.LogitsProcessor(wrong)
    with pytest.raises(ValueError, match="max_tokens"):
        gl.LogitsProcessor(LANGUAGES[1].constraint, max_tokens=0)
    with pytest.raises(ValueError, match="3 rows cannot be shared out among 2 constraints"):
        processor(torch.tensor([[START]] * 3), torch.zeros(3, WIDTH))
    with pytest.raises(ValueError, match="lies beyond the 3 scores"):
        gl.LogitsProcessor(LANGUAGES[1].constraint)(torch.tensor([[START]]), torch.zeros(1, 3))


def test_a_failure_in_the_middle_of_a_batch_leaves_a_processor_that_works(monkeypatch) -> None:
    language = LANGUAGES[0]
    processor = gl.LogitsProcessor(language.constraint)
    processor(torch.tensor([[START], [START]]), torch.zeros(2, WIDTH))
    rows = processor._rows

    def fails(token):
        raise gl.LimitExceeded("too long")

    monkeypatch.setattr(rows[1], "matcher", type("Failing", (), {"advance": staticmethod(fails)}))
    with pytest.raises(gl.LimitExceeded):
        processor(torch.tensor([[START, A], [START, A]]), torch.zeros(2, WIDTH))
    masked = processor(torch.tensor([[START, A], [START, A]]), torch.zeros(2, WIDTH))  # new prompts
    assert set(torch.nonzero(masked[0] == 0).flatten().tolist()) == language.allowed([])


@pytest.mark.parametrize("mode", MODES)
def test_generate_does_what_it_does_with_a_processor_without_memory(llama, mode) -> None:
    for language in LANGUAGES:
        processor = gl.LogitsProcessor(language.constraint)
        want = generated(llama, FromScratch([language], WIDE), **MODES[mode])
        for _ in range(2):  # the second use equals the first
            assert torch.equal(generated(llama, processor, **MODES[mode]), want)
        if "beams" not in mode:  # where there are fewer texts than beams, some are none
            assert all(language.holds(row[WIDE:].tolist()) for row in want)


@pytest.mark.parametrize("mode", ["greedy", "sampling", "three beams", "four samples a prompt"])
def test_one_constraint_a_prompt(llama, mode) -> None:
    several = [LANGUAGES[0], None, LANGUAGES[1]]
    processor = gl.LogitsProcessor([language and language.constraint for language in several])
    options = {**MODES[mode], "return_dict_in_generate": True, "output_scores": True, "output_logits": True}
    want = generated(llama, FromScratch(several, WIDE), **options)
    found = generated(llama, processor, **options)
    assert torch.equal(found.sequences, want.sequences)
    for kind in ("scores", "logits"):
        assert all(torch.equal(a, b) for a, b in zip(found[kind], want[kind], strict=True))


def test_a_prompt_without_a_constraint_stays_as_it_is(llama) -> None:
    options = {"return_dict_in_generate": True, "output_scores": True, "do_sample": False}
    free = llama.generate(**PROMPTS, max_new_tokens=10, pad_token_id=PAD, **options)
    found = generated(llama, gl.LogitsProcessor([None, LANGUAGES[0].constraint, None]), **options)
    assert torch.equal(found.sequences[[0, 2]], free.sequences[[0, 2], : found.sequences.shape[1]])
    assert all(torch.equal(a[[0, 2]], b[[0, 2]]) for a, b in zip(found.scores, free.scores, strict=False))
    assert torch.equal(generated(llama, gl.LogitsProcessor([None] * 3), do_sample=False), free.sequences)


def test_drafts_change_nothing(llama) -> None:
    """Prompt look-up and an assistant model: prefixes grow, shrink, and grow in other ways."""
    draft = random_model("Llama", WIDTH, max_position_embeddings=256, num_hidden_layers=1, **SPECIAL)
    for language, text in zip(LANGUAGES, ([A, B, C, A, B], [X, *TEXT_IDS[7:10], X], [A, B, C, A]), strict=True):
        prompt = {"input_ids": torch.tensor([[START, *text, *text]])}
        processor = gl.LogitsProcessor(language.constraint)
        plain = generated(llama, processor, prompt, do_sample=False)
        assert language.holds(plain[0, prompt["input_ids"].shape[1] :].tolist())
        for drafts in ({"prompt_lookup_num_tokens": 3}, {"assistant_model": draft}, {"assistant_model": llama}):
            found = generated(llama, processor, prompt, do_sample=False, **drafts)
            assert torch.equal(found, plain)
            sampled = generated(llama, processor, prompt, do_sample=True, temperature=2.0, **drafts)
            assert language.holds(sampled[0, prompt["input_ids"].shape[1] :].tolist())


def test_an_encoder_decoder_model() -> None:
    config = transformers.T5Config(
        vocab_size=WIDTH, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=PAD, **SPECIAL
    )
    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(config).eval()
    for language in LANGUAGES:
        processor = gl.LogitsProcessor(language.constraint)
        for mode in ("greedy", "sampling", "three beams"):
            want = generated(model, FromScratch([language], 1), **MODES[mode])
            assert torch.equal(generated(model, processor, **MODES[mode]), want)


def test_with_a_budget_no_text_is_cut(llama) -> None:
    constraint = gl.compile(gl.Regex("a[a-d]{0,40}x"), VOCAB)
    for budget in (2, 3, 7):
        processor = gl.LogitsProcessor(constraint, max_tokens=budget)
        for seed in range(5):
            torch.manual_seed(seed)
            ids = llama.generate(
                **PROMPTS, max_new_tokens=budget, logits_processor=[processor], pad_token_id=PAD, do_sample=True
            )
            for row in ids[:, WIDE:].tolist():
                text = b"".join(TOKENS[i] for i in row if i in TEXT_IDS)
                assert text.startswith(b"a")
                assert text.endswith(b"x")


def test_the_embedded_model_writes_json_in_beams() -> None:
    model, tokenizer = gl.load_tiny()
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 12}, "seats": {"type": "integer", "minimum": 5}},
        "required": ["city", "seats"],
        "additionalProperties": False,
    }
    vocab = gl.Vocabulary.from_tokenizer(tokenizer, size=model.config.vocab_size)
    processor = gl.LogitsProcessor(gl.compile(gl.JsonSchema(schema), vocab), max_tokens=40)
    prompts = tokenizer(
        ["Five seats in Oslo.\n", "A table in Porto, for nine.\n"],
        return_tensors="pt",
        padding=True,
        padding_side="left",
    )
    ids = model.generate(
        **prompts, logits_processor=[processor], num_beams=3, num_return_sequences=2, max_new_tokens=40
    )
    for text in tokenizer.batch_decode(ids[:, prompts["input_ids"].shape[1] :], skip_special_tokens=True):
        jsonschema.validate(json.loads(text), schema)
