"""A causal transformers model and its key-value cache.

Texts of unequal length are padded on the left: with position ids of their own and an attention mask, pads are neither seen nor
counted. Later chunks may differ in length, too (a text whose grammar forces five tokens beside one that has a choice), and ids are
taken back by making them pads; then pads are in the middle of the cache. That is exact where attention uses only position ids and
the mask. A sliding window that counts cache slots, or a recurrent state, would count the pads: such models read all texts again
after a rollback or for chunks of unequal length (`_in_step`).

    cache="dynamic"    grows with the text (the default)
    cache="static"     one allocation for the longest possible text; the default where the model's generation config asks for it
                       (from transformers 5.4 on: before, a batch of unequal prompts gets wrong logits from one)
    cache="off"        none: all texts are read again for each token

A model that has no cache to be passed back in is read as with "off", and a warning says so; the other two are then refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
import transformers

from grammarlm.errors import UnsupportedFeature

from .cache_rows import empty_rows, has_recurrence, joined, padded, taken, tensors
from .callable import CallableReader, rows_of
from .draft_tree import DraftTree
from .last_states import caught_states
from .model_cache import cache_name, go_without, grows, returned_cache, taken_by, why_not
from .model_facts import KEEP_LOGITS, text_config
from .realign import has_many_holes, realign
from .tree_mask import depths, layout, tree_mask

FIRST_STATIC = (5, 4)  # the version of transformers
CAN_BE_STATIC = "_can_compile_fullgraph"  # of a model: can transformers compile it, which needs a static cache?
TAKE_MASKS = (
    "eager",
    "sdpa",
    "prefix_and_tree",
)  # attention that takes a mask of four dimensions; the last is LongSpec's
PLAIN_LAYERS = frozenset({"DynamicLayer"})  # layers whose attention uses only position ids and the mask
STATE_LAYERS = frozenset({"LinearAttentionLayer"})  # a state and no attention: their masks are of the new ids alone
# Models whose dynamic cache has been seen to be of such layers: a draft can follow their prompts in the first forward.
HAVE_PLAIN_CACHES: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


class CachedReader(CallableReader):
    """Reads only new ids; all texts again where the model returns no cache that grows."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], room: int, cache: str | None):
        super().__init__(model, prompts)
        self._options = taken_by(model)
        self._asked, self._name = cache, cache_name(self._options)
        self._is_cached = cache != "off" and self._name is not None
        if self._name is None:
            self._go_without("its forward takes none")
        is_static = self._is_cached and _wants_static(model, cache)
        self._in_step = is_static  # a static cache has no slots for pads
        self._has_states = self._masks_new_ids = False
        self._longest = max(map(len, prompts)) + room if is_static else None
        self._dtype = next((each.dtype for each in model.parameters() if each.is_floating_point()), torch.float32)
        attention = getattr(text_config(model), "_attn_implementation", None)
        self._takes_masks = attention in TAKE_MASKS and "position_ids" in self._options
        self._start_over()

    def _start_over(self) -> None:
        """Empties the cache: the next read is of whole texts."""
        self._slots: list[list[int]] = [[] for _ in self._texts]  # for each cache slot, 1: an id, 0: a pad
        self._cache: Any = None if self._longest is None else _static_cache(self._model, self._longest)

    @property
    def can_be_kept(self) -> bool:  # type: ignore[override]
        return self._has_slots and self._longest is None and not self._has_states  # these are read one id at a time

    @property
    def nbytes(self) -> int:
        return sum(held.nbytes for layer in getattr(self._cache, "layers", ()) for held in tensors(layer))

    @property
    def unequal_is_cheap(self) -> bool:
        return not self._in_step

    @property
    def rollback_is_cheap(self) -> bool:
        """Where cache slots can be masked out; known after a model's first forward, which shows the kind of its cache."""
        is_known = bool(self._slots[0]) or HAVE_PLAIN_CACHES.get(self._model, False)
        return not self._is_cached or (is_known and not self._in_step)

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        self.states = None
        if not self._is_cached:
            return super().read(chunks, scored)
        if self._in_step and (len({len(chunk) for chunk in chunks}) > 1 or self._is_full(len(chunks[0]))):
            self._start_over()
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        is_first = not self._slots[0]
        unread = self._texts if is_first else chunks
        with caught_states(self._model, self.keeps_states) as states:
            if self._has_states and not is_first:  # some recurrences go on by one id at a time alone
                columns = zip(*chunks, strict=True)
                logits = torch.cat([self._forward([[i] for i in ids], 1).logits for ids in columns], 1)
            else:
                output = self._forward(unread, max(scored))
                logits = output.logits
        if is_first:
            self._look_at(returned_cache(output))
        if states:
            caught = torch.cat(states, 1)
            self.states = [row[len(row) - len(ids) :] for row, ids in zip(caught, unread, strict=True)]
        return rows_of(logits, [logits.shape[1]] * len(chunks), scored)

    def _is_full(self, more: int) -> bool:
        """Has a static cache no slots for so many ids? Pads take some where texts grow by drafts of different lengths."""
        return self._longest is not None and len(self._slots[0]) + more > self._longest

    def _forward(self, chunks: Sequence[Sequence[int]], scored: int) -> Any:
        """One forward of the chunks, each padded on the left, with the logits of the last `scored` positions."""
        width = max(map(len, chunks))
        for slots, chunk in zip(self._slots, chunks, strict=True):
            slots.extend([0] * (width - len(chunk)) + [1] * len(chunk))
        ids = [[0] * (width - len(chunk)) + list(chunk) for chunk in chunks]
        options: dict[str, Any] = {name: scored for name in KEEP_LOGITS if name in self._options}
        seen = [slots[-width:] for slots in self._slots] if self._masks_new_ids else self._slots
        has_pads = not all(map(all, seen))
        if has_pads:
            options["attention_mask"] = torch.tensor(seen, device=self._device)
        if (has_pads or self._has_states) and "position_ids" in self._options:
            read = [sum(slots) for slots in self._slots]
            positions = [range(count - width, count) for count in read]
            options["position_ids"] = torch.tensor([[max(i, 0) for i in row] for row in positions], device=self._device)
        with torch.inference_mode():
            return self._model(input_ids=torch.tensor(ids, device=self._device), **self._passed(), **options)

    def _passed(self) -> dict[str, Any]:
        """The cache, which the forward extends and returns."""
        assert self._name is not None
        return {self._name: self._cache, "use_cache": True, "return_dict": True}

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        """By a mask of ancestors, once a forward has shown that the cache allows it; else all texts again, a row for each leaf."""
        if not self.reads_trees:
            self.states = None
            logits = super().read_trees(chunks, scored, trees)
            self._start_over()
            return logits
        self._trees = list(trees)
        _, pads = layout(chunks, trees)
        mask = tree_mask(self._slots, chunks, trees, self._dtype)
        ids, positions = [], []
        for text, chunk, tree, pad in zip(self._texts, chunks, trees, pads, strict=True):
            text.extend(chunk)
            ids.append([0] * pad + list(chunk) + tree.tokens)
            own = range(len(text) - len(chunk), len(text))
            positions.append([0] * pad + list(own) + [len(text) + depth for depth in depths(tree)])
        for slots, chunk, tree, pad in zip(self._slots, chunks, trees, pads, strict=True):
            slots.extend([0] * pad + [1] * len(chunk) + [0] * len(tree))  # nodes are pads until `keep`
        last = max(count + len(tree) for count, tree in zip(scored, trees, strict=True))
        with torch.inference_mode(), caught_states(self._model, self.keeps_states) as states:
            output = self._model(
                input_ids=torch.tensor(ids, device=self._device),
                attention_mask=mask.to(self._device),
                position_ids=torch.tensor(positions, device=self._device),
                **self._passed(),
                **{name: last for name in KEEP_LOGITS if name in self._options},
            )
        self.states = [row[pad:] for row, pad in zip(states[0], pads, strict=True)] if states else None
        logits = output.logits
        counts = [count + len(tree) for count, tree in zip(scored, trees, strict=True)]
        return rows_of(logits, [logits.shape[1]] * len(chunks), counts, self.gives_copies)

    @property
    def reads_trees(self) -> bool:
        """By a mask, with the texts' cache; known after the first forward."""
        return self._is_cached and bool(self._slots[0]) and not self._in_step and self._takes_masks

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        super().keep(paths)
        if not self._is_cached or not self._slots[0]:
            return
        for slots, tree, path in zip(self._slots, self._trees, paths, strict=True):
            for node in path:
                slots[len(slots) - len(tree) + node] = 1
        self._cut()

    def _look_at(self, cache: Any) -> None:
        """Decides how to go on, by the cache that the first forward returned."""
        self._cache = cache if cache is not None and grows(cache) else None
        self._is_cached = self._cache is not None
        if not self._is_cached:
            self._go_without(why_not(cache))
        layers = {type(layer).__name__ for layer in getattr(cache, "layers", ())}
        self._masks_new_ids = bool(layers) and layers <= STATE_LAYERS
        self._has_states = any(map(has_recurrence, getattr(cache, "layers", ())))
        has_mask = {"attention_mask", "position_ids"} <= set(self._options)
        self._in_step = self._is_cached and not (has_mask and layers and layers <= PLAIN_LAYERS)
        HAVE_PLAIN_CACHES[self._model] = self._is_cached and not self._in_step

    def _go_without(self, why: str) -> None:
        go_without(self._model, self._asked, why)

    def _call(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits of all texts, padded on the right, without a cache."""
        off = {"use_cache": False} if "use_cache" in self._options else {}
        logits: torch.Tensor = self._model(input_ids=ids, return_dict=True, **off).logits
        return logits

    def select(self, texts: Sequence[int]) -> None:
        is_same = list(texts) == list(range(len(self._texts)))
        super().select(texts)
        if self._cache is not None and self._slots[0] and not is_same:
            reorder(self._cache, texts, self._device)
        self._slots = [list(self._slots[i]) for i in texts]

    def taken(self, texts: Sequence[int]) -> CachedReader:
        other = super().taken(texts)
        assert isinstance(other, CachedReader)
        other._slots, other.states = [list(self._slots[i]) for i in texts], None
        other._cache = taken(self._cache, texts, self._device) if self._has_slots else None
        if other._cache is None:
            other._start_over()
        else:
            other._close_holes()
        return other

    def _close_holes(self) -> None:
        """Leaves as many slots as the longest text has ids."""
        if self._has_slots and not self._in_step and len(self._slots[0]) > max(map(sum, self._slots)) > 0:
            self._slots = realign(self._cache, self._slots, self._device)

    def join(self, other: CallableReader) -> None:
        """Caches of texts of unequal length are padded on the left; where they cannot be, the next read is of whole texts."""
        assert isinstance(other, CachedReader)
        self._longest = None if self._longest is None else max(self._longest, other._longest or 0)
        known = self if self._has_slots or not self._is_cached else other
        self._is_cached, self._in_step = known._is_cached, known._in_step
        self._has_states, self._masks_new_ids = known._has_states, known._masks_new_ids
        cache, slots = self._with_rows_of(other) if self._has_slots or other._has_slots else (None, [])
        super().join(other)
        if cache is None:
            self._start_over()
        else:
            self._cache, self._slots = cache, slots

    def _with_rows_of(self, other: CachedReader) -> tuple[Any | None, list[list[int]]]:
        """Its cache and slots, followed by those of the other; no cache where they do not fit together."""
        if self._in_step:
            return (
                joined(self._cache, other._cache) if self._has_slots and other._has_slots else None,
                self._slots + other._slots,
            )
        self._close_holes()
        other._close_holes()
        longest = max(len(self._slots[0]), len(other._slots[0]))
        parts, slots = [], list[list[int]]()
        for each, beside in ((self, other), (other, self)):
            more = longest - len(each._slots[0])
            if each._has_slots:
                parts.append(padded(each._cache, more))
            else:  # what was read without a cache (a first read of trees, say) is in none
                was_read = any(each._texts)
                parts.append(None if was_read else empty_rows(beside._cache, len(each._slots)))
            slots += [[0] * more + row for row in each._slots]
        return (None if None in parts else joined(*parts)), slots

    @property
    def _has_slots(self) -> bool:
        return self._cache is not None and bool(self._slots[0])

    def rollback(self, counts: Sequence[int]) -> None:
        """The ids become pads, which have their cache slots but are masked; slots at the end that are pads of all texts are cut."""
        super().rollback(counts)
        if not self._is_cached or not any(counts):
            return
        if self._in_step:
            self._start_over()
            return
        for slots, count in zip(self._slots, counts, strict=True):
            ids = [at for at, is_id in enumerate(slots) if is_id]
            for at in ids[len(ids) - count :]:
                slots[at] = 0
        self._cut()

    def _cut(self) -> None:
        """Takes slots at the end that are pads of all texts out of the cache; where many others are pads, all of them."""
        used = max((at + 1 for slots in self._slots for at, is_id in enumerate(slots) if is_id), default=0)
        if not used:
            self._start_over()
        elif used < len(self._slots[0]):
            self._cache.crop(used - len(self._slots[0]))
            self._slots = [slots[:used] for slots in self._slots]
        if self._slots[0] and has_many_holes(self._slots):
            self._slots = realign(self._cache, self._slots, self._device)


def reorder(cache: Any, texts: Sequence[int], device: torch.device) -> None:
    """Keeps the texts of a cache, in the order given; one may occur several times."""
    with torch.inference_mode():
        cache.reorder_cache(torch.tensor(list(texts), dtype=torch.long, device=device))


def _wants_static(model: Any, cache: str | None) -> bool:
    can_be = static_caches_are_right() and getattr(model, CAN_BE_STATIC, False)
    if cache != "static":
        asked = getattr(getattr(model, "generation_config", None), "cache_implementation", None)
        return cache is None and asked == "static" and can_be
    if not static_caches_are_right():
        raise UnsupportedFeature(
            f"cache='static' needs transformers 5.4 or newer, this is {transformers.__version__}; leave cache= out"
        )
    if not can_be:
        go_without(model, cache, f"transformers says so: {CAN_BE_STATIC} is not set")
    return True


def static_caches_are_right() -> bool:
    major, minor = transformers.__version__.split(".")[:2]
    return (int(major), int(minor)) >= FIRST_STATIC


def _static_cache(model: Any, longest: int) -> Any:
    from transformers import StaticCache

    return StaticCache(config=text_config(model), max_cache_len=longest)
