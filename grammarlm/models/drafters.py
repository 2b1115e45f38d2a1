"""What drafts from the causal model's last hidden states: heads for the tokens after the next (Medusa's way, behind one layer), and
a layer that predicts the state of the next position from the last one and the token drawn (EAGLE's way). Both use the frozen
model's embedding and output: `model.lm_head(predicted)` are logits."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grammarlm.models.network import Layer, Norm, Shape, angles


class Heads(nn.Module):
    """Head k predicts, from the states up to a position, the token k + 2 places after it (the model itself predicts the next one).

    The last state of the model says little of what it will copy later on: a layer of the heads' own looks back for that, once for
    all heads. Without it 1.7 tokens of four are accepted, with it 3.1.
    """

    COUNT = 4
    attends = True

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape, hidden = shape, shape.hidden
        self.layer, self.norm = Layer(shape), Norm(hidden)
        self.first = nn.ModuleList(nn.Linear(hidden, 2 * hidden, bias=False) for _ in range(self.COUNT))
        self.second = nn.ModuleList(nn.Linear(2 * hidden, hidden, bias=False) for _ in range(self.COUNT))
        for weight in self.second.parameters():
            nn.init.zeros_(weight)  # the heads begin alike

    def forward(self, states: Tensor) -> list[Tensor]:
        """States [rows, width, hidden] that the model's output turns into logits, one of each head."""
        seen = self.norm(self.layer(states, angles(states.shape[1], self.shape.head_width, states)))
        return [seen + second(F.silu(first(seen))) for first, second in zip(self.first, self.second, strict=True)]


class FeatureDrafter(nn.Module):
    """One causal layer over (state at a position, embedding of the token after it): the state at that token."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.join = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.layer = Layer(shape)
        self.norm = Norm(shape.hidden)

    def forward(self, states: Tensor, embedded: Tensor) -> Tensor:
        """[rows, width, hidden] each; `embedded[:, i]` is of the token after `states[:, i]`."""
        joined = self.join(torch.cat((states, embedded), -1))
        return self.norm(self.layer(joined, angles(states.shape[1], self.shape.head_width, joined)))
