"""Drafters of other packages on the same prompts: rows of `python -m benchmarks.drafts`.

    transformers, look-up        generate(prompt_lookup_num_tokens=...)
    transformers, assisted       generate(assistant_model=...) with the embedded draft model
    transformers, universal      the same with a draft model of another vocabulary: the same one, its ids shuffled
    arctic-inference, suffix     its SuffixDecodingCache, which drafts in our loop

transformers decodes with its own loop; under a grammar with `gl.LogitsProcessor`, so that all rows write the same answers. A row
whose package, or model, is not there is skipped, with a line that says so.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import transformers

import grammarlm as gl
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import RunDrafter
from training.corpus import Example, constraint

LOOKED_UP = 10  # tokens that a look-up proposes: as many as "copy" does
MORE = 8  # ids of the shuffled vocabulary
Texts = list[str]


class ArcticSuffix(RunDrafter):
    """arctic-inference's store as a drafter: one cache, which forgets nothing. Its defaults, or `bounds` instead."""

    length = 16

    def __init__(self, **bounds: float):
        from arctic_inference.suffix_decoding import SuffixDecodingCache

        self._cache, self._bounds = SuffixDecodingCache(), bounds
        self._requests: dict[Row, int] = {}
        self._started = 0

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        ids = np.array(tokens, np.int32)
        if row in self._requests:
            self._cache.add_active_response(self._requests[row], ids)
        else:
            self._requests[row] = self._started
            self._cache.start_request(self._started, ids)
            self._started += 1

    def drop(self, row: Row) -> None:
        self._cache.stop_request(self._requests.pop(row))

    def runs(self, growth: DraftBuilder, length: int, count: int) -> list[list[int]]:
        said = np.array(growth.ids[-self._cache.max_tree_depth :], np.int32)
        most = length if count == 1 else growth.most
        draft = self._cache.speculate(
            self._requests[growth.row], said, max_spec_tokens=most, use_tree_spec=count > 1, **self._bounds
        )
        paths: list[list[int]] = []
        for token, parent in zip(draft.token_ids, draft.parents, strict=True):
            paths.append([*(paths[parent] if parent >= 0 else []), token])
        return [path for node, path in enumerate(paths) if node not in draft.parents]


class OfTarget(transformers.LogitsProcessor):
    """Holds the target alone: transformers passes a draft model's scores, too, which may be of another vocabulary."""

    def __init__(self, held: gl.LogitsProcessor, width: int):
        self._held, self._width = held, width

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        return self._held(input_ids, scores) if scores.shape[1] == self._width else scores  # type: ignore[return-value]


@dataclass
class Forwards:
    """The calls of a model, and how many ids each one reads."""

    widths: list[int] = field(default_factory=list)

    @contextmanager
    def of(self, model: Any) -> Iterator[None]:
        def note(_: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
            ids = kwargs.get("input_ids", args[0] if args else None)
            self.widths.append(int(ids.shape[1]))

        hook = model.register_forward_pre_hook(note, with_kwargs=True)
        try:
            yield
        finally:
            hook.remove()


def by_transformers(
    options: Mapping[str, Any], model: Any, tokenizer: Any, asked: Sequence[Example], most: int, constrained: bool
) -> tuple[dict[str, Any], Texts]:
    """The fields of a `Cost`, and the answers, greedy, one after another."""
    vocab = gl.Vocabulary.from_tokenizer(tokenizer, size=model.config.vocab_size)
    counts, texts, start = dict.fromkeys(("tokens", "forwards", "drafted", "accepted"), 0), [], time.perf_counter()
    for one in asked:
        ids = torch.tensor([tokenizer.encode(one.prompt)])
        held = []
        if constrained:
            processor = gl.LogitsProcessor(gl.compile(grammar_of(one), vocab), max_tokens=most)
            held = [OfTarget(processor, model.config.vocab_size)]
        forwards = Forwards()
        with forwards.of(model), torch.inference_mode():
            row = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                logits_processor=held,
                max_new_tokens=most,
                do_sample=False,
                **options,
            )[0, ids.shape[1] :].tolist()
        read = sum(forwards.widths) - ids.shape[1] + 1  # of the prompt only its last id counts, as of every forward
        counts["tokens"] += len(row)
        counts["forwards"] += len(forwards.widths)
        counts["drafted"] += read - len(forwards.widths)
        counts["accepted"] += len(row) - len(forwards.widths)
        texts.append(tokenizer.decode(row, skip_special_tokens=True))
    return {**counts, "seconds": time.perf_counter() - start}, texts


def grammar_of(one: Example) -> Any:
    """The grammar of an answer's form, as an object."""
    given = constraint(one.form)
    if "schema" in given:
        return gl.JsonSchema(given["schema"])
    return gl.Regex(given["regex"]) if "regex" in given else given["grammar"]


def shuffled(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """The same model in another vocabulary: all ids but those of added tokens have changed places.

    transformers takes models for those of one vocabulary if they are equally wide, so that this one has some ids more, which are as
    likely as the padding.
    """
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    described = json.loads(tokenizer.backend_tokenizer.to_str())
    kept = {each["id"] for each in described["added_tokens"]}
    width = model.config.vocab_size
    free = [id for id in range(width) if id not in kept and id < len(tokenizer)]
    place = np.arange(width)
    place[free] = np.random.default_rng(1).permutation(free)
    pieces = described["model"]["vocab"]
    described["model"]["vocab"] = {piece: int(place[id]) for piece, id in pieces.items()}
    named = {
        name: getattr(tokenizer, name) for name in ("bos_token", "eos_token", "pad_token") if getattr(tokenizer, name)
    }
    other = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(described)), **named)
    moved = copy.deepcopy(model)
    moved.resize_token_embeddings(width + MORE, mean_resizing=False)
    with torch.no_grad():
        for table in (moved.get_input_embeddings(), moved.get_output_embeddings()):
            before = (
                model.get_input_embeddings() if table is moved.get_input_embeddings() else model.get_output_embeddings()
            )
            table.weight[torch.tensor(place)] = before.weight
            table.weight[width:] = before.weight[tokenizer.pad_token_id]
    return moved, other


def options_of(name: str, tokenizer: Any) -> dict[str, Any]:
    """What generate is asked for."""
    if name == "transformers, look-up":
        return {"prompt_lookup_num_tokens": LOOKED_UP}
    draft, _ = gl.load_tiny(draft=True)
    if name == "transformers, assisted":
        return {"assistant_model": draft}
    moved, other = shuffled(draft, tokenizer)
    return {"assistant_model": moved, "tokenizer": tokenizer, "assistant_tokenizer": other}


def missing(name: str) -> str:
    """Why a row cannot be measured; nothing if it can."""
    if name == "arctic-inference, suffix":
        try:
            import arctic_inference.suffix_decoding  # noqa: F401
        except ImportError as error:
            return f"arctic-inference's store cannot be imported ({error})"
    return ""


PEERS: dict[str, str] = {  # by the names that the command line takes
    "lookup": "transformers, look-up",
    "assisted": "transformers, assisted",
    "universal": "transformers, universal",
    "arctic": "arctic-inference, suffix",
}
