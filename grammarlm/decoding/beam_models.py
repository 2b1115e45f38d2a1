"""Transformers models as `step(tokens, parents) -> logits`: many texts side by side, which share beginnings and are dropped.

The key-value cache follows the beams: row i of a call reads behind row `parents[i]` of the call before, so the cache's rows are
put in that order. A model without a cache that can grow reads its texts again. Prompts of one length are read together, so a level
takes as many forwards as there are lengths; no row is ever padded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .arguments import check_integer, listed
from .model_steps import KEEP_LOGITS, device_of, grows

Step = Callable[[Any, Any], Any]


def model_step(step: Any, prompt: Any, batch: int | None) -> tuple[Step, int | None]:
    """The function that reads, and how many searches there are (None: one, and its result alone is wanted)."""
    check_integer("batch", batch, 1, optional=True)
    if not hasattr(getattr(step, "config", None), "model_type"):
        if not callable(step):
            raise TypeError(
                f"step is {type(step).__name__}; pass a function of (tokens, parents) that returns logits, or a transformers model"
            )
        if prompt is not None:
            raise ValueError("prompt= is for transformers models; a step function knows what it has read before")
        return step, batch
    if prompt is None:
        raise ValueError("a model needs a prompt: pass prompt=, a list of token ids, or one list for each search")
    is_one = not _is_list_of_lists(prompt)
    prompts = [listed(p) for p in ([prompt] if is_one else prompt)]
    if not all(prompts):
        raise ValueError("a prompt has no ids, and a model needs at least one, for example [tokenizer.bos_token_id]")
    if batch is not None and batch != len(prompts):
        raise ValueError(f"batch={batch}, and there are {len(prompts)} prompts; leave batch= out")
    return BeamModel(step, prompts), None if is_one else len(prompts)


def _is_list_of_lists(prompt: Any) -> bool:
    if isinstance(prompt, torch.Tensor):
        return prompt.ndim == 2
    return isinstance(prompt, Sequence) and len(prompt) > 0 and hasattr(prompt[0], "__len__")


class BeamModel:
    """All texts of all searches: those whose prompts have one length are one reader's."""

    def __init__(self, model: Any, prompts: list[list[int]]):
        self._model, self._prompts = model, prompts
        self._readers: list[Reader] = []
        self._rows: list[tuple[int, int]] = []  # of the call before: which reader, and its row there

    def __call__(self, tokens: list[int] | None, parents: list[int]) -> torch.Tensor:
        if tokens is None:
            lengths = sorted({len(self._prompts[search]) for search in parents})
            kind = EncoderDecoderReader if getattr(self._model.config, "is_encoder_decoder", False) else Reader
            self._readers = [kind(self._model) for _ in lengths]
            owners = [lengths.index(len(self._prompts[search])) for search in parents]
        else:
            owners = [self._rows[parent][0] for parent in parents]
        rows: list[tuple[int, int]] = []
        found: list[torch.Tensor] = []
        order: list[int] = []
        for number, reader in enumerate(self._readers):
            mine = [i for i, owner in enumerate(owners) if owner == number]
            if not mine:
                continue
            if tokens is None:
                found.append(reader.begin(torch.tensor([self._prompts[parents[i]] for i in mine])))
            else:
                above = torch.tensor([self._rows[parents[i]][1] for i in mine])
                found.append(reader.read(torch.tensor([tokens[i] for i in mine]), above))
            order += mine
        counts = [0] * len(self._readers)
        for owner in owners:
            rows.append((owner, counts[owner]))
            counts[owner] += 1
        self._rows = rows
        logits = torch.cat(found)
        return logits if len(found) == 1 else logits[torch.tensor(order).argsort().to(logits.device)]


class Reader:
    """Texts of one length, and the cache of what has been read of them."""

    def __init__(self, model: Any):
        if hasattr(model, "can_generate") and not model.can_generate():
            raise TypeError(f"{type(model).__name__} does not continue texts; load it with AutoModelForCausalLM")
        self.model, self.device = model, device_of(model)
        accepted = inspect.signature(model.forward).parameters
        self.options: dict[str, Any] = {name: 1 for name in KEEP_LOGITS if name in accepted}
        self.cache: Any = None
        self.ids = torch.zeros((0, 0), dtype=torch.int64)  # all that has been read, one text a row

    def begin(self, prompts: torch.Tensor) -> torch.Tensor:
        """Logits [n, V] behind prompts [n, T]."""
        self.ids = prompts.to(self.device)
        return self.forward(self.ids)

    def read(self, tokens: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        tokens, parents = tokens.to(self.device), parents.to(self.device)
        self.ids = torch.cat([self.ids[parents], tokens[:, None]], dim=1)
        if self.cache is not None:
            self.cache = reordered(self.cache, parents)
        self.follow(parents)
        return self.forward(self.ids if self.cache is None else tokens[:, None])

    def follow(self, parents: torch.Tensor) -> None:
        """What else has a row for each text."""

    def forward(self, unread: torch.Tensor) -> torch.Tensor:
        output = self.model(
            **self.inputs(unread), past_key_values=self.cache, use_cache=True, return_dict=True, **self.options
        )
        cache = getattr(output, "past_key_values", None)
        self.cache = cache if can_follow(cache) else None
        return output.logits[:, -1]

    def inputs(self, unread: torch.Tensor) -> dict[str, Any]:
        return {"input_ids": unread}


class EncoderDecoderReader(Reader):
    """The prompt goes to the encoder, once; items are written by the decoder."""

    def __init__(self, model: Any):
        super().__init__(model)
        configs = (getattr(model, "generation_config", None), model.config)
        starts = [getattr(config, "decoder_start_token_id", None) for config in configs]
        self.start = next((int(start) for start in starts if start is not None), -1)
        if self.start < 0:
            raise ValueError(
                f"{type(model).__name__} does not say how its decoder begins; set config.decoder_start_token_id"
            )
        self.encoded: Any = None

    def begin(self, prompts: torch.Tensor) -> torch.Tensor:
        self.encoded = self.model.get_encoder()(input_ids=prompts.to(self.device), return_dict=True).last_hidden_state
        return super().begin(torch.full((len(prompts), 1), self.start))

    def follow(self, parents: torch.Tensor) -> None:
        self.encoded = self.encoded[parents]

    def inputs(self, unread: torch.Tensor) -> dict[str, Any]:
        from transformers.modeling_outputs import BaseModelOutput

        return {"decoder_input_ids": unread, "encoder_outputs": BaseModelOutput(last_hidden_state=self.encoded)}


def can_follow(cache: Any) -> bool:
    """Can this cache be handed back for other rows, and one token more?"""
    parts = [getattr(cache, name) for name in ("self_attention_cache", "cross_attention_cache") if hasattr(cache, name)]
    return all(map(grows, parts)) if parts else grows(cache)


def reordered(cache: Any, parents: torch.Tensor) -> Any:
    """The cache, row `parents[i]` as row i."""
    if isinstance(cache, tuple):
        return tuple(
            reordered(part, parents) if isinstance(part, tuple) else part.index_select(0, parents) for part in cache
        )
    cache.reorder_cache(parents)
    return cache
