"""The backend under SGLang's own grammar manager, registry, mask update and draft-tree walk, taken from its wheel."""

import inspect
import json
import random
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

import grammarlm as gl
from training import gguf

from . import sources

sources.install()

from sglang.srt.arg_groups import choices  # noqa: E402
from sglang.srt.constrained import base_grammar_backend as base  # noqa: E402
from sglang.srt.constrained.grammar_manager import GrammarManager  # noqa: E402

from grammarlm.integrations import sglang as ours  # noqa: E402

TOKENIZER = AutoTokenizer.from_pretrained(gguf.FOLDER)
EXTRA = 40  # rows of logits that the tokenizer has no tokens for
SIZE = len(TOKENIZER) + EXTRA
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "count": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["name", "count"],
    "additionalProperties": False,
}
BEGIN, END = '<tool_call>\n{"name": "f", "arguments": ', "}\n</tool_call>"
STRUCTURES = [{"begin": BEGIN, "schema": SCHEMA, "end": END}]
OLDER = {"type": "structural_tag", "structures": STRUCTURES, "triggers": ["<tool_call>"], "at_least_one": True}
KEYS = {
    "json_schema": ("json", json.dumps(SCHEMA)),
    "regex": ("regex", "(ab|c){1,4}"),
    "ebnf": ("ebnf", 'root ::= "a" root | "b"'),
    "structural_tag": ("structural_tag", json.dumps(OLDER)),
}


class Req:
    """As much of SGLang's request as its grammar manager uses."""

    def __init__(self, **asked: Any):
        self.sampling_params = SimpleNamespace(
            **{"json_schema": None, "regex": None, "ebnf": None, "structural_tag": None, **asked},
            ebnf_full_assistant=False,
            custom_params=None,
        )
        self.grammar: Any = None
        self.grammar_key: Any = None
        self.grammar_wait_ct = 0
        self.require_reasoning, self.rid, self.origin_input_ids = False, "r", [1]
        self.aborted = ""

    def set_finish_with_abort(self, message: str) -> None:
        self.aborted = message

    def finished(self) -> bool:
        return bool(self.aborted)


@pytest.fixture(scope="module")
def manager() -> Iterator[GrammarManager]:
    ours.register()
    ours.register()
    assert choices.GRAMMAR_BACKEND_CHOICES.count("grammarlm") == 1
    model = SimpleNamespace(vocab_size=SIZE, hf_eos_token_id={TOKENIZER.eos_token_id}, think_end_ids=None)
    group = SimpleNamespace(world_size=1, first_rank=0, is_first_rank=True)
    scheduler = SimpleNamespace(
        server_args=None,
        tokenizer=TOKENIZER,
        model_config=model,
        dp_tp_cpu_group=None,
        dp_tp_group=group,
        pp_group=None,
    )
    made = GrammarManager(scheduler)
    assert isinstance(made.grammar_backend, ours.Backend)
    yield made
    made.grammar_backend.executor.shutdown()


def admitted(manager: GrammarManager, **asked: Any) -> Req:
    """A request whose grammar is ready, or that was aborted."""
    req = Req(**asked)
    if manager.process_req_with_grammar(req):
        while manager.has_waiting_grammars():
            manager.get_ready_grammar_requests()
    return req


UPDATE = sources.FILES.function(
    "update_regex_vocab_mask",
    "sglang/srt/sampling/sampling_batch_info.py",
    GrammarRow=base.GrammarRow,
    GrammarMask=base.GrammarMask,
)


def allowed_after(grammars: list[Any]) -> np.ndarray:
    """Which logits each row of a batch keeps."""
    batch = SimpleNamespace(grammars=grammars, vocab_size=SIZE, temperatures=grammars, device="cpu", grammar_mask=None)
    UPDATE(batch)
    logits = torch.zeros(len(grammars), SIZE)
    if batch.grammar_mask is not None:
        batch.grammar_mask.apply(logits)
    return np.isfinite(logits.numpy())


def reference(key: tuple[str, str], tokens: list[int], vocab: gl.Vocabulary) -> set[int]:
    matcher, mask = gl.compile(ours.grammar_of(*key), vocab).matcher(), gl.allocate_mask(1, vocab.size)
    for token in tokens:
        assert matcher.advance(token)
    matcher.fill_mask(mask)
    return set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[: vocab.size]).tolist())


def test_everything_that_the_base_classes_ask_for() -> None:
    for kind, parent in ((ours.RequestGrammar, base.BaseGrammarObject), (ours.Backend, base.BaseGrammarBackend)):
        for name, method in inspect.getmembers(parent, inspect.isfunction):
            mine = getattr(kind, name)
            if mine is not method and name != "__init__":
                assert [*inspect.signature(mine).parameters] == [*inspect.signature(method).parameters], name
    for name in (
        "accept_token",
        "rollback",
        "fill_vocab_mask",
        "allocate_vocab_mask",
        "move_vocab_mask",
        "apply_vocab_mask",
    ):
        assert getattr(ours.RequestGrammar, name) is not getattr(base.BaseGrammarObject, name)


def test_batches_of_requests(manager: GrammarManager) -> None:
    """Slots are left and taken again, one stays without a grammar; each row is that of a matcher that reads the same tokens."""
    rng, vocab = random.Random(0), manager.grammar_backend.vocab
    slots: list[tuple[str, Req, list[int]] | None] = [None] * 4
    finished: list[tuple[str, str]] = []
    for _ in range(400):
        for at in range(3):
            if slots[at] is None:
                name = rng.choice([*KEYS])
                slots[at] = name, admitted(manager, **{name: KEYS[name][1]}), []
        kept = allowed_after([slot and slot[1].grammar for slot in slots])
        assert kept[3].all()
        for at, slot in enumerate(slots):
            if slot is None:
                continue
            name, req, tokens = slot
            allowed = set(np.flatnonzero(kept[at]).tolist())
            assert allowed == reference(KEYS[name], tokens, vocab)
            ends = allowed & set(vocab.stop_ids)
            token = rng.choice(sorted(ends if ends and (len(tokens) > 30 or rng.random() < 0.3) else allowed))
            req.grammar.accept_token(token)
            if req.grammar.is_terminated():
                assert token in vocab.stop_ids
                finished.append((name, TOKENIZER.decode(tokens)))
                slots[at] = None
            else:
                tokens.append(token)
                slots[at] = slot if len(tokens) < 120 else None
    assert {name for name, _ in finished} == {*KEYS}
    for name, text in finished:
        if name == "json_schema":
            jsonschema.validate(json.loads(text), SCHEMA)
        if name == "structural_tag":
            call, _, _ = text.removeprefix(BEGIN).partition(END)
            assert text.startswith(BEGIN)
            jsonschema.validate(json.loads(call), SCHEMA)


@pytest.mark.parametrize("schema", [SCHEMA, {}, None])
@pytest.mark.parametrize("is_needed", [False, True])
def test_structural_tags(manager: GrammarManager, schema: Any, is_needed: bool) -> None:
    """In both forms; a tool without parameters has null for a schema."""
    content = {"type": "json_schema", "json_schema": schema, "style": "json"}
    tags = [{"type": "tag", "begin": BEGIN, "content": content, "end": END}]
    newer = {
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": tags,
        "at_least_one": is_needed,
        "excludes": [],
    }
    older = {**OLDER, "structures": [{"begin": BEGIN, "schema": schema, "end": END}], "at_least_one": is_needed}
    call = f'{BEGIN}{{"name": "a", "count": 3}}{END}'
    for tag in ({"type": "structural_tag", "format": newer}, older):
        for text, is_fine in (
            (call, True),
            (f"{call} and {call}", True),
            (f"so {call}", not is_needed),
            (call.replace("3", "x"), False),
        ):
            req, read = admitted(manager, structural_tag=json.dumps(tag)), True
            for token in TOKENIZER.encode(text, add_special_tokens=False):
                read = read and bool(allowed_after([req.grammar])[0][token])
                if read:
                    req.grammar.accept_token(token)
            assert (read and bool(allowed_after([req.grammar])[0][TOKENIZER.eos_token_id])) == is_fine, (tag, text)


def test_rows_at_once_leave_the_others_as_they_are(manager: GrammarManager) -> None:
    rng = random.Random(2)
    for _ in range(30):
        rows = sorted(rng.sample(range(9), rng.randrange(1, 9)))
        name = rng.choice([*KEYS])
        entries = [base.GrammarRow(row, admitted(manager, **{name: KEYS[name][1]}).grammar) for row in rows]
        mask, single = (entries[0].grammar.allocate_vocab_mask(SIZE, 9, "cpu") for _ in range(2))
        mask[:], single[:] = 0x5A5A5A5A, 0x5A5A5A5A
        entries[0].grammar.fill_vocab_mask_batched(entries, mask)
        base.BaseGrammarObject.fill_vocab_mask_batched(entries, single)
        assert torch.equal(mask, single)


def test_equal_grammars_are_compiled_once_and_held_within_bytes(manager: GrammarManager) -> None:
    first = admitted(manager, regex="x{3}")
    second = Req(regex="x{3}")
    assert not manager.process_req_with_grammar(second)  # held: no waiting
    assert second.grammar is not first.grammar
    assert second.grammar.constraint is first.grammar.constraint
    assert not manager.grammar_backend.cache
    manager.clear()
    assert manager.process_req_with_grammar(Req(regex="x{3}"))
    manager.grammar_queue.clear()


def test_any_json(manager: GrammarManager) -> None:
    req = admitted(manager, json_schema="$$ANY$$")
    for token in TOKENIZER.encode('{"a": [1, null]}', add_special_tokens=False):
        req.grammar.accept_token(token)
    assert allowed_after([req.grammar])[0][manager.grammar_backend.vocab.stop_ids[0]]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"json_schema": "{"}, "no JSON|JSON"),
        ({"json_schema": '{"type": "integer", "minimum": 3, "maximum": 2}'}, "unsatisfiable|no instance|satisf"),
        ({"regex": "(a"}, "missing|parenthes"),
        ({"ebnf": 'root ::= "a" other'}, "other"),
        ({"structural_tag": "{}"}, "format"),
        ({"structural_tag": "{"}, "no JSON"),
        ({"structural_tag": '{"type": "structural_tag", "format": {"type": "tags"}}'}, "tags"),
        ({"structural_tag": 5}, ""),
        ({"json_schema": 5}, ""),  # in SGLang's words: a text is what it asks for
        ({"json_schema": [["a"]]}, ""),
        ({"json_schema": "[" * 100_000}, "recursion|nested"),
        ({"json_schema": "3"}, "boolean|object"),
        ({"regex": {"a": 1}}, "regex"),
        ({"regex": "\ud800"}, "surrogate"),
        ({"ebnf": 3.5}, ""),
        ({"ebnf": ""}, "rule|root|empty"),
    ],
)
def test_bad_grammars_end_their_request_with_a_sentence(manager: GrammarManager, asked: Any, said: str) -> None:
    req = admitted(manager, **asked)
    assert isinstance(req.grammar, base.InvalidGrammarObject)
    assert req.aborted.startswith("Failed to compile")
    assert re.search(said, req.aborted), req.aborted
    assert allowed_after([admitted(manager, regex="a").grammar]).any()


def test_a_token_that_the_mask_forbids_ends_its_request_alone(manager: GrammarManager) -> None:
    one, other = admitted(manager, regex="ab").grammar, admitted(manager, regex="ab").grammar
    wrong = next(
        t for t in range(manager.grammar_backend.vocab.size) if t not in reference(("regex", "ab"), [], other.vocab)
    )
    with pytest.raises(ValueError, match="forbids"):
        one.accept_token(wrong)
    kept = allowed_after([one, other])
    assert set(np.flatnonzero(kept[0]).tolist()) == set(one.vocab.stop_ids)
    assert set(np.flatnonzero(kept[1]).tolist()) == reference(("regex", "ab"), [], other.vocab)


TRAVERSE = sources.FILES.function("traverse_tree", "sglang/srt/speculative/spec_utils.py")


def test_trees_of_drafts(manager: GrammarManager) -> None:
    """SGLang walks a tree of drafts depth first, takes tokens back, and fills a row a node."""
    rng, vocab, key = random.Random(1), manager.grammar_backend.vocab, KEYS["json_schema"]
    refused = 0
    for _ in range(60):
        grammar = admitted(manager, json_schema=key[1]).grammar
        read: list[int] = []
        for _ in range(rng.randint(0, 12)):
            token = rng.choice(sorted(reference(key, read, vocab) - set(vocab.stop_ids)))
            grammar.accept_token(token)
            read.append(token)
        count = 8
        parents = [-1, *(rng.randrange(node) for node in range(1, count))]
        paths: list[list[int] | None] = [read]
        tokens, child, sibling = [0] * count, [-1] * count, [-1] * count
        for node in range(1, count):
            path = paths[parents[node]]
            allowed = sorted(reference(key, path, vocab)) if path is not None else []
            draw = rng.choice(allowed) if allowed and rng.random() < 0.8 else rng.randrange(vocab.size)
            ends = path is None or draw not in allowed or draw in vocab.stop_ids
            paths.append(None if ends else [*(path or ()), draw])
            tokens[node] = draw
            last = child[parents[node]]
            if last < 0:
                child[parents[node]] = node
            else:
                while sibling[last] >= 0:
                    last = sibling[last]
                sibling[last] = node
        mask = grammar.allocate_vocab_mask(SIZE, count, "cpu")
        TRAVERSE(torch.tensor(child), torch.tensor(sibling), torch.tensor(tokens), grammar, mask, SIZE)
        for node, path in enumerate(paths):
            if path is None:
                refused += 1
                assert (mask[node] == -1).all()
            else:
                bits = np.unpackbits(mask[node].numpy().view(np.uint8), bitorder="little")[: vocab.size]
                assert set(np.flatnonzero(bits).tolist()) == reference(key, path, vocab)
        kept = allowed_after([grammar])[0]
        assert set(np.flatnonzero(kept).tolist()) == reference(key, read, vocab)
    assert refused > 50
