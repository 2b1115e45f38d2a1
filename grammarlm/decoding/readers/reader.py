"""Ids in, logits out: the interface of a model, of whatever kind.

    reader = open_reader(model, [[1, 5, 7], [1, 9]], room=20)
    logits = reader.read(reader.beginnings, [1, 1])       # both prompts in one forward; the logits after each one's last id
    reader.select([0, 0, 1])                              # three texts from now on: the first one twice
    logits = reader.read([[3], [4], [8, 2]], [1, 1, 2])   # new ids of each text; of the third text the logits after each id
    reader.rollback([0, 1, 2])                            # the second text ends with 7 again, the third one with 9

    logits = reader.read_trees([[3], [4]], [1, 1], trees) # as read, and then the logits after each node of the draft trees
    reader.keep([[0, 2], []])                             # the first text goes on with nodes 0 and 2, no other node is read

    second = reader.taken([1])                            # the second text by itself, in a reader of its own
    reader.join(open_reader(model, [[6, 6]], room=20))    # a third text, of which nothing is read yet

    groups = Groups()                                     # texts that are read in changing company
    groups.open([ada, tom], reader)
    groups.open([eva], second)
    groups.gather([tom, eva]).read(...)                   # one forward of these two; the other keeps what it has read

A reader has a batch of texts. One `read` is one forward, whatever was done before: texts may catch up by several ids, go back, be
dropped, repeated and reordered, and the logits are those of a forward over the whole texts. `tests/decoding/readers` holds every
reader to this. What differs is the cost:

    CallableReader        (callable.py) reads all texts again each time, padded on the right, which a causal model
                          cannot see
    CachedReader          (cached.py) reads only new ids, padded on the left, with the model's own key-value cache
    EncoderDecoderReader  (encoder_decoder.py) reads the prompts once, by the encoder, and the answers by the decoder
    RecurrentReader       (recurrent.py) reads by a state, and reads again what was drawn after a draft; of
                          Mamba and Mamba 2 by their weights
    BlendedReader         (blended.py) reads with several readers, and makes one row of logits of theirs
    SwitchingReader       (switching.py) reads with one of several models at a time
    AdaptedReader         (adapted.py) reads again where a function has changed the model
    ByteReader            (byte_model/byte_model.py) reads bytes by a model of tokens
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch

from grammarlm.decoding.systems import STATE_SPACE_MODEL, STATE_SPACES, system

from .callable import CallableReader
from .draft_tree import DraftTree
from .kept import KeptTexts
from .model_cache import go_without
from .model_facts import is_encoder_decoder, is_transformers_model
from .recurrent import RecurrentModel, RecurrentReader

Key = TypeVar("Key", bound=Hashable)

CACHES = ("dynamic", "static", "off")  # of a transformers model; what they mean is in cached.py


class Reader(Protocol):
    """A model that reads a batch of texts."""

    beginnings: list[list[int]]  # the first ids to read of each text: its prompt, or the decoder's start id
    keeps_states: bool  # set it to True for `states`
    gives_copies: bool  # set it to False where rows of trees are not written to: large ones need no memory twice then
    # Of the last read, for each text the model's last hidden states [ids and nodes, hidden]; None where the reader has none.
    states: list[torch.Tensor] | None

    @property
    def width(self) -> int | None:
        """Of the logits; None where known only after a forward."""

    @property
    def nbytes(self) -> int:
        """Memory of what has been read, ids left out."""

    @property
    def unequal_is_cheap(self) -> bool:
        """After the beginnings: do chunks of unequal length cost no more than their ids? Else all texts are read again."""

    @property
    def rollback_is_cheap(self) -> bool:
        """Is it known that a rollback costs nothing? Else all texts are read again by the next read."""

    @property
    def reads_trees(self) -> bool:
        """Does one forward over a row read a whole draft tree, by a mask, its nodes' states among `states`? Known after a read."""

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        """Reads one more chunk of ids of each text; float32 [sum of scored, V] on the CPU, owned by the caller.

        A chunk may be empty where the text is not, but not all of them, nor all of `scored` 0.
        The rows of text i are the logits after each of its last `scored[i]` ids, at most its whole chunk; texts one after another.
        """

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        """Reads as `read` does, and a draft tree after each text; float32 [sum of scored and nodes, V].

        Of each text first the rows that `read` gives, then the logits after each node. `keep` comes next. All chunks may be empty
        where the texts are not, and a tree is not.
        """

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        """Text i goes on with the nodes `paths[i]` of its tree, from the text downwards; all others are taken back."""

    def select(self, texts: Sequence[int]) -> None:
        """Text i becomes a copy of what was text `texts[i]`: drops, repeats or reorders texts."""

    def taken(self, texts: Sequence[int]) -> Any:
        """Another reader, of copies of these texts, with what has been read of them."""

    def join(self, other: Any) -> None:
        """The texts of another reader of the same model come after these; it is not to be used again.

        ValueError where texts of this kind of reader belong to their batch.
        """

    def rollback(self, counts: Sequence[int]) -> None:
        """Takes back the last `counts[i]` ids of text i, as if they had never been read; none of its beginning."""


@runtime_checkable
class OpensReader(Protocol):
    """A model that brings a reader of its own, such as gl.ByteModel."""

    def open_reader(self, prompts: Sequence[Sequence[int]], room: int, cache: str | None) -> Reader:
        """As the function below."""


def open_reader(
    model: Any, prompts: Sequence[Sequence[int]], room: int, cache: str | KeptTexts | None = None
) -> Reader:
    """A new reader of these prompts, with room for `room` ids after each of them."""
    kept, cache = (cache, cache.cache) if isinstance(cache, KeptTexts) else (None, cache)
    if isinstance(model, OpensReader):
        return model.open_reader(prompts, room, cache)
    if isinstance(model, RecurrentModel):
        if cache == "static":
            go_without(model, cache, "it is read by its state")
        return RecurrentReader(model, prompts)
    if not is_transformers_model(model):
        if cache is not None:
            go_without(model, cache, "a callable from ids to logits has none")
        return CallableReader(model, prompts)
    if is_encoder_decoder(model):
        from .encoder_decoder import EncoderDecoderReader

        return EncoderDecoderReader(model, prompts, cache)
    if is_state_space(model) and cache in (None, "dynamic"):
        return open_reader(system(STATE_SPACE_MODEL)(model), prompts, room)
    from .cached import CachedReader

    if kept is not None and kept.model is model:
        return kept.open(prompts, room)
    return CachedReader(model, prompts, room, cache)


def is_state_space(model: Any) -> bool:
    """Is it of a kind that is read by its state? Not where its layers are on several devices."""
    devices = set(getattr(model, "hf_device_map", {}).values())
    return model.config.model_type in STATE_SPACES and hasattr(model, "backbone") and len(devices) < 2


@dataclass
class Group(Generic[Key]):
    """A reader, and whose texts it reads, in its order."""

    keys: list[Key]
    reader: Reader


class Groups(Generic[Key]):
    """Which texts share a forward is said anew before each. Texts that were read together stay together until others are asked for:
    a batch that does not change costs nothing."""

    def __init__(self) -> None:
        self._groups: list[Group[Key]] = []

    def __contains__(self, key: Key) -> bool:
        return any(key in group.keys for group in self._groups)

    @property
    def nbytes(self) -> int:
        return sum(group.reader.nbytes for group in self._groups)

    def open(self, keys: Sequence[Key], reader: Reader) -> None:
        """A new reader, of the texts of these keys."""
        self._groups.append(Group(list(keys), reader))

    def join(self, other: Groups[Key]) -> None:
        """The texts of other groups, of the same model, are among these."""
        self._groups += other._groups

    def gather(self, keys: Sequence[Key]) -> Reader:
        """The reader of these texts, in this order."""
        wanted, parts, others = set(keys), list[Group[Key]](), list[Group[Key]]()
        for group in self._groups:
            if group.keys == keys:
                return group.reader
            if wanted.isdisjoint(group.keys):
                others.append(group)
            elif wanted.issuperset(group.keys):
                parts.append(group)
            else:
                parts.append(taken(group, wanted))
                others.append(group)
        whole = parts[0]
        for part in parts[1:]:
            whole.reader.join(part.reader)
            whole.keys += part.keys
        if whole.keys != list(keys):
            whole.reader.select([whole.keys.index(key) for key in keys])
            whole.keys = list(keys)
        self._groups = [*others, whole]
        return whole.reader

    def replace(self, keys: Sequence[Key], new: Sequence[Key], texts: Sequence[int]) -> None:
        """Of texts that are read together: text i is from now on a copy of what was text `texts[i]` of them, under its new key."""
        group = next(group for group in self._groups if group.keys == keys)
        if list(texts) != list(range(len(keys))):
            group.reader.select(texts)
        group.keys = list(new)

    def drop(self, keys: Iterable[Key]) -> None:
        gone = set(keys)
        for group in self._groups:
            left = [at for at, key in enumerate(group.keys) if key not in gone]
            if left and len(left) < len(group.keys):
                group.reader.select(left)
            group.keys = [group.keys[at] for at in left]
        self._groups = [group for group in self._groups if group.keys]


def taken(group: Group[Key], wanted: set[Key]) -> Group[Key]:
    """Takes these texts out of a group."""
    going = [at for at, key in enumerate(group.keys) if key in wanted]
    staying = [at for at, key in enumerate(group.keys) if key not in wanted]
    part = Group([group.keys[at] for at in going], group.reader.taken(going))
    group.reader.select(staying)
    group.keys = [group.keys[at] for at in staying]
    return part
