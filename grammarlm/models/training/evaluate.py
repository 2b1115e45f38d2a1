"""How good the embedded models are: exact match on prompts that no training text has, accepted drafts, exits, filled canvases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

import grammarlm as gl
from grammarlm.models.corpus import Example, constraint, example

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from grammarlm.models.network import Network

MAX_TOKENS, BATCH = 192, 50
DRAFTED = 4  # tokens of a chain


@dataclass(frozen=True)
class Share:
    """How many of how many, with the 95 % interval of Wilson's score."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        return self.hits / self.of

    @property
    def interval(self) -> tuple[float, float]:
        z, share = 1.96, self.hits / self.of
        middle = share + z * z / (2 * self.of)
        half = z * math.sqrt(share * (1 - share) / self.of + z * z / (4 * self.of**2))
        scale = 1 + z * z / self.of
        return (middle - half) / scale, (middle + half) / scale


def examples(split: str, task: str, count: int) -> list[Example]:
    return [example(split, index, task) for index in range(count)]


def answers(model: Any, tokenizer: PreTrainedTokenizerFast, asked: Sequence[Example], constrained: bool) -> list[Any]:
    """The greedy answer of each prompt, an `Output` of `generate`; prompts of one form are answered together."""
    found: dict[int, Any] = {}
    for form in sorted({each.form for each in asked}):
        indices = [index for index, each in enumerate(asked) if each.form == form]
        options = constraint(form) if constrained else {}
        for group in chunks(indices, BATCH):
            prompts = [asked[index].prompt for index in group]
            made = gl.generate(model, prompts, tokenizer=tokenizer, max_tokens=MAX_TOKENS, **options)
            found.update(zip(group, made, strict=True))
    return [found[index] for index in range(len(asked))]


def exact(asked: Sequence[Example], texts: Sequence[str]) -> Share:
    return Share(sum(text == each.answer for text, each in zip(texts, asked, strict=True)), len(asked))


def chunks(values: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


# --- drafts

Propose = Callable[[list[int], int, Any], list[int]]


def accepted(
    tokenizer: PreTrainedTokenizerFast, asked: Sequence[Example], texts: Sequence[Sequence[int]], propose: Propose
) -> tuple[float, float]:
    """(drafts accepted a round, tokens a forward of the model) where chains are drafted for known greedy answers.

    `propose(ids, length, matcher)` is the chain that the draft model writes after the ids, each token one that the grammar allows.
    """
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    rounds = kept = written = 0
    for each, text in zip(asked, texts, strict=True):
        matcher = gl.compile(gl.JsonSchema(constraint(each.form)["schema"]), vocab).matcher()
        prompt, at = tokenizer.encode(each.prompt), 0
        answer = [*text, tokenizer.eos_token_id]
        while at < len(answer):
            drafted = propose([*prompt, *answer[:at]], DRAFTED, matcher.fork())
            same = 0
            while same < len(drafted) and at + same < len(answer) and drafted[same] == answer[at + same]:
                same += 1
            step = min(same + 1, len(answer) - at)
            for token in answer[at : at + step]:
                matcher.advance(token)
            rounds, kept, written, at = rounds + 1, kept + same, written + step, at + step
    return kept / rounds, written / rounds


def best_allowed(logits: torch.Tensor, matcher: Any) -> int:
    mask = gl.allocate_mask(1, logits.shape[-1])
    matcher.fill_mask(mask)
    masked = logits.detach().clone()[None]
    gl.apply_mask_(masked, mask)
    return int(masked.argmax())


def chain(logits_after: Callable[[list[int]], torch.Tensor], ids: list[int], length: int, matcher: Any) -> list[int]:
    """Greedy tokens, each after those drafted before it."""
    drafted: list[int] = []
    while len(drafted) < length and not matcher.is_finished:
        drafted.append(best_allowed(logits_after([*ids, *drafted]), matcher))
        matcher.advance(drafted[-1])
    return drafted


def draft_model(model: Any) -> Propose:
    def logits_after(ids: list[int]) -> torch.Tensor:
        logits: torch.Tensor = model(torch.tensor([ids])).logits[0, -1]
        return logits

    return lambda ids, length, matcher: chain(logits_after, ids, length, matcher)


def by_heads(heads: Any, trunk: Any) -> Propose:
    """The model's own next token would come from the forward before; heads draft what follows it."""

    def propose(ids: list[int], length: int, matcher: Any) -> list[int]:
        # The last forward was at the token before the last: its own prediction is ids[-1], head k predicts k + 1 places after.
        state = trunk.model(torch.tensor([ids[:-1]])).last_hidden_state[0, -1]
        drafted: list[int] = []
        for predicted in heads(state)[:length]:
            if matcher.is_finished:
                break
            drafted.append(best_allowed(trunk.lm_head(predicted), matcher))
            matcher.advance(drafted[-1])
        return drafted

    return propose


def by_features(drafter: Any, trunk: Any) -> Propose:
    def propose(ids: list[int], length: int, matcher: Any) -> list[int]:
        states = trunk.model(torch.tensor([ids[:-1]])).last_hidden_state
        drafted: list[int] = []
        while len(drafted) < length and not matcher.is_finished:
            embedded = trunk.model.embed_tokens(torch.tensor([[*ids[1:], *drafted]]))
            predicted = drafter(states, embedded)[:, -1:]
            drafted.append(best_allowed(trunk.lm_head(predicted[0, -1]), matcher))
            matcher.advance(drafted[-1])
            states = torch.cat((states, predicted), 1)
        return drafted

    return propose


def exits(model: Any, tokenizer: PreTrainedTokenizerFast, asked: Sequence[Example]) -> list[Share]:
    """For each layer but the last, how often its own best next token is the last layer's, over the answers."""
    hits, of = [0] * (model.config.num_hidden_layers - 1), 0
    for each in asked:
        prompt, answer = tokenizer.encode(each.prompt), tokenizer.encode(each.answer)
        states = model(torch.tensor([[*prompt, *answer]]), output_hidden_states=True).hidden_states[1:]
        first = len(prompt) - 1
        last = model.lm_head(states[-1][0, first:]).argmax(-1)  # the norm is in the last state already
        for layer, state in enumerate(states[:-1]):
            early = model.lm_head(model.model.norm(state[0, first:])).argmax(-1)
            hits[layer] += int((early == last).sum())
        of += len(last)
    return [Share(hit, of) for hit in hits]


# --- canvases


def fill(network: Network, prompt: Sequence[int], length: int, steps: int, mask: int) -> list[int]:
    """A row of `length` tokens after the prompt, the most confident first, the same number in each step; without a constraint."""
    ids = torch.tensor([[*prompt, *[mask] * length]])
    start = len(prompt)
    for left in range(steps, 0, -1):
        is_open = ids[0, start:] == mask
        if not is_open.any():
            break
        logits = network(ids)[0, start:].float()
        logits[:, mask] = -torch.inf
        confidence, best = logits.softmax(-1).max(-1)
        count = -(-int(is_open.sum()) // left)
        chosen = confidence.masked_fill(~is_open, -1).topk(count).indices
        ids[0, start + chosen] = best[chosen]
    return ids[0, start:].tolist()
