"""The network of the embedded models: Llama's layers in plain torch, causal or looking both ways.

Parameters have the names of transformers' `LlamaForCausalLM`, which loads what a causal network learns (a test compares their
logits). Training uses this one, which hands out the states after every layer.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROPE_BASE = 10_000.0


@dataclass(frozen=True)
class Shape:
    """Sizes of a network."""

    vocabulary: int
    hidden: int = 256
    layers: int = 4
    head_width: int = 32
    causal: bool = True

    @property
    def heads(self) -> int:
        return self.hidden // self.head_width

    @property
    def inner(self) -> int:
        """The width inside the feed-forward part."""
        return self.hidden * 8 // 3 // 32 * 32


class Norm(nn.Module):
    """Division by the root mean square."""

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, states: Tensor) -> Tensor:
        wide = states.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(states.dtype) * self.weight


class Attention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(shape.hidden, shape.hidden, bias=False) for _ in range(4)
        )

    def forward(self, states: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        rows, width, _ = states.shape

        def heads(projection: nn.Linear) -> Tensor:
            return projection(states).view(rows, width, self.shape.heads, -1).transpose(1, 2)

        queries, keys = (rotated(heads(projection), *rotation) for projection in (self.q_proj, self.k_proj))
        mixed = F.scaled_dot_product_attention(queries, keys, heads(self.v_proj), is_causal=self.shape.causal)
        return self.o_proj(mixed.transpose(1, 2).reshape(rows, width, -1))


class FeedForward(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, shape.hidden, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(states)) * self.up_proj(states))


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.self_attn = Attention(shape)
        self.mlp = FeedForward(shape)
        self.input_layernorm = Norm(shape.hidden)
        self.post_attention_layernorm = Norm(shape.hidden)

    def forward(self, states: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        states = states + self.self_attn(self.input_layernorm(states), rotation)
        return states + self.mlp(self.post_attention_layernorm(states))


class Trunk(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.hidden)


class Network(nn.Module):
    """Layers between an embedding and its transpose."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.model = Trunk(shape)
        for name, parameter in self.named_parameters():
            if "norm" not in name:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits [rows, width, vocabulary]."""
        return self.logits(self.states(ids)[-1])

    def states(self, ids: Tensor) -> list[Tensor]:
        """The states after each layer; what looks both ways answers for a position, as a causal network, by the state before it."""
        states = self.model.embed_tokens(ids)
        rotation = angles(ids.shape[1], self.shape.head_width, states)
        after = []
        for layer in self.model.layers:
            states = layer(states, rotation)
            after.append(states)
        return after if self.shape.causal else [shifted(states) for states in after]

    def logits(self, states: Tensor) -> Tensor:
        """Of the states after any layer."""
        return self.output(self.model.norm(states))

    def last_states(self, ids: Tensor) -> Tensor:
        """What transformers calls the last hidden state: after the last layer and the norm."""
        return self.model.norm(self.states(ids)[-1])

    def output(self, last_states: Tensor) -> Tensor:
        return F.linear(last_states, self.model.embed_tokens.weight)


def shifted(states: Tensor) -> Tensor:
    """Each position gets the state before it; the first one keeps its own."""
    return torch.cat((states[:, :1], states[:, :-1]), 1)


def angles(width: int, head_width: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary position embedding."""
    steps = torch.arange(0, head_width, 2, device=like.device) / head_width
    turns = torch.arange(width, device=like.device)[:, None] * ROPE_BASE**-steps
    turns = torch.cat((turns, turns), -1)
    return turns.cos().to(like.dtype), turns.sin().to(like.dtype)


def rotated(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    first, second = heads.chunk(2, -1)
    return heads * cosines + torch.cat((-second, first), -1) * sines
