"""The backend under vLLM's own manager of structured outputs: masks, drafts, and models that think before they answer."""

import json
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer

import grammarlm as gl
from training import gguf

from . import sources

sources.install()

from vllm.parser.engine.adapters import ParserEngineReasoningAdapter  # noqa: E402
from vllm.v1.structured_output import StructuredOutputManager, backend_types  # noqa: E402
from vllm.v1.structured_output.request import StructuredOutputRequest  # noqa: E402

from grammarlm.integrations.serving import served_row  # noqa: E402
from grammarlm.integrations.serving.options import sealed  # noqa: E402
from grammarlm.integrations.vllm import plugin  # noqa: E402
from grammarlm.integrations.vllm.backend import Backend  # noqa: E402

TOKENIZER = AutoTokenizer.from_pretrained(gguf.FOLDER)
SIZE = len(TOKENIZER) + 40  # rows of logits that the tokenizer has no tokens for
SCHEMA = {"type": "array", "items": {"type": "integer"}}
END = 7  # the token after which a model has thought
DRAFTS = 3
BATCH = 140  # beyond 128 vLLM asks from several threads


class Reasoner(ParserEngineReasoningAdapter):  # type: ignore[misc]
    """Thinks until END; another token would end it, too, and begin the answer."""

    reasoning_end_token_ids = (END,)
    implicit_reasoning_end_token_ids = (TOKENIZER.encode("{", add_special_tokens=False)[0],)

    def __init__(self, tokenizer: Any):
        pass

    def is_reasoning_end(self, tokens: list[int]) -> bool:
        return END in tokens

    def is_reasoning_end_streaming(self, tokens: list[int], more: list[int]) -> bool:
        return END in more

    def find_reasoning_end(self, tokens: list[int]) -> Any:
        return SimpleNamespace(offset=tokens.index(END), implicit=False) if END in tokens else None


class Request:
    """As much of vLLM's request as its manager and we use."""

    use_structured_output = True

    def __init__(self, most: int, **asked: Any):
        kinds = ("json", "json_object", "regex", "choice", "grammar", "structural_tag")
        outputs = SimpleNamespace(**{name: asked.get(name) for name in kinds}, _backend="grammarlm")
        self.sampling_params = SimpleNamespace(
            structured_outputs=outputs, extra_args=None, all_stop_token_ids={TOKENIZER.eos_token_id}
        )
        self.structured_output_request = StructuredOutputRequest(params=outputs)
        self.request_id, self.max_tokens, self.num_prompt_tokens = "r", most, 3
        self.prompt_token_ids, self.output = [1, 2, 3], list[int]()

    @property
    def num_output_tokens(self) -> int:
        return len(self.output)

    @property
    def all_token_ids(self) -> list[int]:
        return [*self.prompt_token_ids, *self.output]


@pytest.fixture(params=[0, DRAFTS])
def manager(request: pytest.FixtureRequest) -> Any:
    model = SimpleNamespace(
        made=TOKENIZER, max_model_len=256, skip_tokenizer_init=False, runner_type="generate", is_diffusion=False,
        get_vocab_size=lambda: SIZE, try_get_generation_config=dict,
    )  # fmt: skip
    outputs = SimpleNamespace(reasoning_parser="", reasoning_parser_plugin="", enable_in_reasoning=False)
    config = SimpleNamespace(
        model_config=model, structured_outputs_config=outputs, num_speculative_tokens=request.param,
        parallel_config=SimpleNamespace(distributed_executor_backend="mp"),
        scheduler_config=SimpleNamespace(max_num_seqs=BATCH), additional_config=None,
    )  # fmt: skip
    plugin.register_backend()
    plugin.register_backend()  # vLLM may run it again
    made = StructuredOutputManager(config)
    assert isinstance(made.backend, Backend)
    return made


def admitted(manager: Any, request: Request) -> Request:
    manager.grammar_init(request)
    while request.structured_output_request.grammar is None:  # a thread makes it
        pass
    return request


def allowed(row: np.ndarray) -> list[int]:
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def rows_of(manager: Any, requests: list[Request], drafts: dict[str, list[int]]) -> np.ndarray:
    by_name = {request.request_id: request for request in requests}
    found: np.ndarray = manager.grammar_bitmask(by_name, list(by_name), drafts)
    return found.reshape(len(requests), -1, found.shape[-1])


def write(manager: Any, request: Request, tokens: list[int]) -> None:
    """What was sampled, as vLLM's scheduler passes it on."""
    request.output += tokens
    assert manager.accept_tokens(request, tokens)


def reference(tokens: list[int], vocab: gl.Vocabulary) -> list[int]:
    matcher, mask = (
        gl.compile(gl.JsonSchema(SCHEMA).as_generated(), vocab).matcher(),
        gl.allocate_mask(1, vocab.size),
    )
    assert all(map(matcher.advance, tokens))
    matcher.fill_mask(mask)
    return allowed(mask[0])


def test_masks_and_drafts(manager: Any) -> None:
    """Each row is that of a matcher that reads the tokens anew; drafts are cut where the schema ends them."""
    rng, vocab = random.Random(0), manager.backend.engine.vocab
    for _ in range(10):
        request = admitted(manager, Request(250, json=json.dumps(SCHEMA)))
        stops = set(vocab.stop_ids)
        while len(request.output) < 25 and not stops & set(request.output):
            asked = [rng.choice(reference(request.output, vocab)), rng.randrange(SIZE)][
                : manager.vllm_config.num_speculative_tokens
            ]
            drafts = manager.validate_tokens(request, asked)
            rows = rows_of(manager, [request], {"r": drafts})[0]
            read = list(request.output)
            for row, draft in zip(rows, [*drafts, -1], strict=False):
                assert allowed(row) == reference(read, vocab)
                read.append(draft)
                if draft in stops:
                    break
            sampled = rng.choice(reference(request.output, vocab))
            write(manager, request, [sampled])


@pytest.mark.parametrize("thought", [0, 1, 6])
def test_tokens_of_thought_count(manager: Any, thought: int) -> None:
    """The answer is complete within what thinking has left of max_tokens."""
    manager.reasoner_cls = Reasoner
    vocab = manager.backend.engine.vocab
    request = admitted(manager, Request(16, json=json.dumps(SCHEMA)))
    begin = TOKENIZER.encode("[", add_special_tokens=False)[0]
    for token in [*[9] * thought, END]:
        drafts = manager.validate_tokens(request, [9, END, begin][: manager.vllm_config.num_speculative_tokens])
        row = rows_of(manager, [request], {"r": drafts})[0][0]
        assert set(range(SIZE)) - set(allowed(row)) == set(Reasoner.implicit_reasoning_end_token_ids)
        write(manager, request, [token])
    text: list[int] = []
    while not set(text) & set(vocab.stop_ids):
        row = rows_of(manager, [request], {"r": []})[0][0]
        others = [
            token for token in allowed(row) if token not in vocab.stop_ids and b"]" not in vocab.token_bytes(token)
        ]
        text.append((others or allowed(row))[0])  # it would go on for ever
        write(manager, request, text[-1:])
    assert len(request.output) == 16
    assert isinstance(json.loads(TOKENIZER.decode(text[:-1])), list)


@pytest.mark.parametrize("thinks", [False, True])
def test_a_step_is_one_call(manager: Any, thinks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its size; of requests that think, beside others that have thought, the rows are vLLM's."""
    rng, vocab, calls = random.Random(1), manager.backend.engine.vocab, list[int]()
    fill_masks = served_row.fill_masks

    def counted(rows: list[Any], mask: np.ndarray) -> list[bool]:
        calls.append(len(rows))
        return fill_masks(rows, mask)

    monkeypatch.setattr(served_row, "fill_masks", counted)
    manager.reasoner_cls = Reasoner if thinks else None
    for count in (1, 5, BATCH):
        requests, texts = list[Request](), list[list[int]]()
        for number in range(count):
            request = admitted(manager, Request(250, json=json.dumps(SCHEMA)))
            request.request_id = f"r{number}"
            thought = [9] * rng.randrange(3) + [END] * rng.randrange(2) if thinks else []
            for token in thought:
                write(manager, request, [token])
            text = list[int]()
            for _ in range(rng.randrange(4) if not thinks or END in thought else 0):
                text.append(rng.choice([t for t in reference(text, vocab) if b"]" not in vocab.token_bytes(t)]))
                write(manager, request, text[-1:])
            requests.append(request)
            texts.append(text)
        calls.clear()
        rows = rows_of(manager, requests, {})
        assert calls == ([] if manager.vllm_config.num_speculative_tokens else [count])
        for request, text, row in zip(requests, texts, rows, strict=True):
            if thinks and END not in request.output:
                assert set(range(SIZE)) - set(allowed(row[0])) == set(Reasoner.implicit_reasoning_end_token_ids)
            else:
                assert allowed(row[0]) == reference(text, vocab)
    assert manager.grammar_bitmask({}, [], {}) is None


@pytest.mark.parametrize("width", range(1, 9))
def test_thinking_inside_the_grammar(manager: Any, width: int) -> None:
    """Several tokens at once, and drafts of them, across the end of a thought that the grammar holds."""
    rng, drafts = random.Random(width), manager.vllm_config.num_speculative_tokens
    grammar = gl.Text(until="</think>") + "\n\n" + gl.JsonSchema(SCHEMA)
    for cut in range(20):
        text = "\n</think>\n\n[1, 23]"
        pieces = (text[:cut], text[cut : cut + 3], text[cut + 3 :])
        tokens = [token for piece in pieces for token in TOKENIZER.encode(piece, add_special_tokens=False)]
        one, many = (admitted(manager, Request(100, grammar=sealed(grammar))) for _ in range(2))
        for at in range(0, len(tokens), width):
            window = tokens[at : at + width]
            wrong = next(
                t for t in rng.sample(range(SIZE), SIZE) if t not in allowed(rows_of(manager, [one], {})[0][0])
            )
            assert manager.validate_tokens(many, window) == window
            assert manager.validate_tokens(many, [wrong, *window]) == []
            rows = list(rows_of(manager, [many], {"r": window[:drafts]})[0])
            for number, token in enumerate(window):
                if number <= drafts:
                    assert allowed(rows[number]) == allowed(rows_of(manager, [one], {"r": []})[0][0])
                write(manager, one, [token])
            write(manager, many, window)
        assert TOKENIZER.eos_token_id in allowed(rows_of(manager, [many], {"r": []})[0][0])


CALL = '<tool_call>\n{"name": "f", "arguments": [1, 2]}\n</tool_call>'
BEGIN, FINISH = CALL.split("[1, 2]")
FORMAT = {
    "type": "triggered_tags",
    "triggers": ["<tool_call>"],
    "tags": [{"begin": BEGIN, "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": FINISH, "type": "tag"}],
    "excludes": [],
    "at_least_one": False,
    "stop_after_first": False,
}


@pytest.mark.parametrize(
    "tag",
    [
        {"type": "structural_tag", "format": FORMAT},
        {"structures": [{"begin": BEGIN, "schema": SCHEMA, "end": FINISH}], "triggers": ["<tool_call>"]},
    ],
)
def test_structural_tags(manager: Any, tag: dict[str, Any]) -> None:
    text = TOKENIZER.encode(f"so {CALL} and {CALL}", add_special_tokens=False)
    request = admitted(manager, Request(250, structural_tag=json.dumps(tag)))
    for token in text:
        assert token in allowed(rows_of(manager, [request], {"r": []})[0][0])
        write(manager, request, [token])
    assert TOKENIZER.eos_token_id in allowed(rows_of(manager, [request], {"r": []})[0][0])
    broken = TOKENIZER.encode(f"so {BEGIN}", add_special_tokens=False)
    request = admitted(manager, Request(250, structural_tag=json.dumps(tag)))
    write(manager, request, broken)
    assert manager.validate_tokens(request, TOKENIZER.encode('"a"', add_special_tokens=False)) == []


@pytest.mark.parametrize(
    ("prompt", "thinks", "begins"),
    [
        ("assistant\n", False, "<think>\n"),
        ("assistant\n<think>\n", False, "hm\n</think>\n\n["),
        ("assistant\n<think>\n\n</think>\n\n", False, "[1"),
        ("assistant\n<think>\n", True, "[1"),  # vLLM asks for no mask before the thought has ended
    ],
)
def test_a_turn_goes_on_where_its_prompt_ends(manager: Any, prompt: str, thinks: bool, begins: str) -> None:
    manager.vllm_config.structured_outputs_config.reasoning_parser = "x" if thinks else ""
    backend = Backend(manager.vllm_config, TOKENIZER, SIZE)
    turn = gl.Tools([], format="hermes", calls="none", reasoning=50, answer=gl.JsonSchema(SCHEMA))
    request = Request(250, grammar=sealed(turn))
    request.prompt_token_ids = TOKENIZER.encode(f"a<|im_start|>{prompt}", add_special_tokens=False)
    tokens = TOKENIZER.encode(begins, add_special_tokens=False)
    assert backend.grammar_of(request).validate_tokens(tokens) == tokens
    other = TOKENIZER.encode("[" if begins[0] != "[" else "<think>", add_special_tokens=False)
    assert begins[:2] == "hm" or backend.grammar_of(request).validate_tokens(other) == []


def test_later_versions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the same functions they get a line; with others they are refused by name."""
    plugin.register_backend()
    assert not capsys.readouterr().err
    monkeypatch.setattr(plugin.vllm, "__version__", "0.99.1")
    plugin.register_backend()
    plugin.register_backend()
    (line,) = capsys.readouterr().err.splitlines()
    assert "this is vLLM 0.99.1, and grammarlm is tested with 0.32 and 0.33" in line

    def accept_tokens(self: Any, request_id: str, tokens: list[int], is_final: bool) -> bool:
        return True

    monkeypatch.setattr(backend_types.StructuredOutputGrammar, "accept_tokens", accept_tokens)
    changed = (
        r"StructuredOutputGrammar.accept_tokens takes \(self, request_id, tokens, is_final\).*GRAMMARLM_VLLM_BACKEND"
    )
    with pytest.raises(RuntimeError, match=changed):
        plugin.register_backend()
