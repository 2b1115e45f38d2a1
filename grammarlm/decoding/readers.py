"""Ids in, logits out: the interface of a model, of whatever kind.

    reader = open_reader(model, [[1, 5, 7], [1, 9]], room=20)
    logits = reader.read(reader.beginnings, [1, 1])       # both prompts in one forward; the logits after each one's last id
    reader.select([0, 0, 1])                              # three texts from now on: the first one twice
    logits = reader.read([[3], [4], [8, 2]], [1, 1, 2])   # new ids of each text; of the third text the logits after each id

A reader has a batch of texts. One `read` is one forward. The reader decides how texts of unequal length share it:

    CallableReader        reads all texts again each time, padded on the right, which a causal model cannot see
    CachedReader          (cached_reader.py) reads only new ids, padded on the left, with the model's own key-value cache
    EncoderDecoderReader  (encoder_decoder.py) reads the prompts once, by the encoder, and the answers by the decoder
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

KEEP_LOGITS = ("logits_to_keep", "num_logits_to_keep")  # the option's name from transformers 4.50 on, and before


class Reader(Protocol):
    """A model that reads a batch of texts."""

    beginnings: list[list[int]]  # the first ids to read of each text: its prompt, or the decoder's start id
    width: int | None  # of the logits; None where known only after a forward
    in_step: bool  # after the beginnings, must all chunks of a read have equal length?

    @property
    def can_forget(self) -> bool:
        """Is rollback possible?"""

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        """Reads one more chunk of ids of each text; float32 [sum of scored, V] on the CPU, owned by the caller.

        The rows of text i are the logits after each of its last `scored[i]` ids, at most its whole chunk; texts one after another.
        """

    def select(self, texts: Sequence[int]) -> None:
        """Text i becomes a copy of what was text `texts[i]`: drops, repeats or reorders texts."""

    def forget(self, counts: Sequence[int]) -> None:
        """Rolls back the last `counts[i]` ids of text i. Only where `can_forget`."""


def open_reader(model: Any, prompts: Sequence[Sequence[int]], room: int, cache: str | None = None) -> Reader:
    """A new reader of these prompts, with room for `room` ids after each of them."""
    if not is_transformers_model(model):
        return CallableReader(model, prompts)
    if is_encoder_decoder(model):
        from .encoder_decoder import EncoderDecoderReader

        return EncoderDecoderReader(model, prompts)
    from .cached_reader import CachedReader

    return CachedReader(model, prompts, room, cache)


def check_model(model: Any) -> None:
    """TypeError where the model cannot generate text."""
    if is_transformers_model(model):
        if hasattr(model, "can_generate") and not model.can_generate():
            fit = "AutoModelForSeq2SeqLM" if is_encoder_decoder(model) else "AutoModelForCausalLM"
            raise TypeError(f"{type(model).__name__} does not continue texts; load it with {fit}")
    elif not callable(model):
        raise TypeError(
            f"model is {type(model).__name__}; pass a transformers model that generates, or a callable from ids [B, T] to "
            "logits [B, T, V]"
        )


def is_transformers_model(model: Any) -> bool:
    return hasattr(getattr(model, "config", None), "model_type")


def is_encoder_decoder(model: Any) -> bool:
    return is_transformers_model(model) and bool(getattr(model.config, "is_encoder_decoder", False))


def width_of(model: Any) -> int | None:
    """The width of its logits; None where known only after a forward."""
    if not is_transformers_model(model):
        return None
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    weight = getattr(head, "weight", None)
    if weight is not None and weight.ndim == 2:
        return int(weight.shape[0])
    return getattr(text_config(model), "vocab_size", None)


def text_config(model: Any) -> Any:
    """The config of the text part of a model with several parts; None for a bare callable."""
    config = getattr(model, "config", None)
    of_text = getattr(config, "get_text_config", None)
    return of_text() if of_text else config


class CallableReader:
    """Reader of a callable from ids [B, T] to logits [B, T, V], or of a model without a usable cache."""

    in_step = False

    @property
    def can_forget(self) -> bool:
        return True

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]):
        self._model, self._device, self.width = model, device_of(model), width_of(model)
        self.beginnings = [list(prompt) for prompt in prompts]
        self._texts: list[list[int]] = [[] for _ in prompts]

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        length = max(map(len, self._texts))
        padded = [text + [text[-1]] * (length - len(text)) for text in self._texts]
        with torch.no_grad():
            logits = self._call(torch.tensor(padded, device=self._device))
        self._check(logits, (len(padded), length))
        return rows_of(logits, [len(text) for text in self._texts], scored)

    def _call(self, ids: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._model(ids)
        return logits

    def _check(self, logits: Any, expected: tuple[int, int]) -> None:
        if not isinstance(logits, torch.Tensor):
            raise TypeError(
                f"the model returned {type(logits).__name__}; a callable returns its logits as one tensor [B, T, V]"
            )
        is_table = logits.ndim == 3 and tuple(logits.shape[:2]) == expected and logits.shape[2] > 0
        if not is_table or not logits.is_floating_point():
            raise ValueError(
                f"the model returned {logits.dtype} {list(logits.shape)} for ids {list(expected)}; "
                f"it must be a floating-point tensor [{expected[0]}, {expected[1]}, V], the logits after each id"
            )

    def select(self, texts: Sequence[int]) -> None:
        self._texts = [list(self._texts[i]) for i in texts]

    def forget(self, counts: Sequence[int]) -> None:
        for text, count in zip(self._texts, counts, strict=True):
            del text[len(text) - count :]


def device_of(model: Any) -> torch.device:
    """The device of the ids: that of the first parameter, which is the embedding."""
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else iter(())
    first = next(parameters, None)
    return torch.device("cpu") if first is None else first.device


def rows_of(logits: torch.Tensor, ends: Sequence[int], scored: Sequence[int]) -> torch.Tensor:
    """float32 [sum of scored, V]: for each text the `scored` rows before its end.

    Always a copy, because masks are written into it: a callable may return a view of its own table. Made outside of inference
    mode, whose tensors cannot be written to later.
    """
    count, length, width = logits.shape
    flat = logits.detach().reshape(count * length, width)
    places = [
        text * length + at
        for text, (end, last) in enumerate(zip(ends, scored, strict=True))
        for at in range(end - last, end)
    ]
    if len(places) == len(flat):  # every row, in order
        return flat.to("cpu", torch.float32, copy=True)
    chosen = flat[torch.tensor(places, dtype=torch.long, device=flat.device)]
    return chosen.to("cpu", torch.float32)
