"""Texts of a search as nodes of a tree: a text is its parent and one more token.

    start = TextNode(0)                   # the beginning of the answer to prompt 0
    text = start.child(5).child(7)
    text.tokens()                         # [5, 7]
    text == start.child(5).child(7)       # nodes are equal where prompt and tokens are

So texts share what they have in common, and a search keeps as many nodes for a text as it has tokens, not a copy of each of its
prefixes. A branch that nobody follows any more goes with its last node. A node's hash is made of its parent's, and to compare two
nodes is to go back until they are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice


@dataclass(frozen=True, slots=True)
class TokenScores:
    """What Result reports of one token."""

    logprob: float  # in softmax(masked logits / temperature)
    model_logprob: float
    mass_removed: float


class TextNode:
    """The number of a prompt, and the tokens of an answer to it."""

    __slots__ = ("_hash", "length", "parent", "prompt", "token", "token_scores")

    def __init__(self, prompt: int, parent: TextNode | None = None, token: int = -1, scores: TokenScores | None = None):
        self.prompt, self.parent, self.token = prompt, parent, token
        self.token_scores = scores  # of the last token
        self.length: int = 0 if parent is None else parent.length + 1
        self._hash: int = hash((prompt if parent is None else parent._hash, token))

    def child(self, token: int, scores: TokenScores | None = None) -> TextNode:
        return TextNode(self.prompt, self, token, scores)

    def nodes(self) -> Iterator[TextNode]:
        """The node of each token, the last one first."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent

    def ancestors(self) -> Iterator[TextNode]:
        """The texts that this one goes on from, the longest first; the empty one last."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def tokens(self, start: int = 0) -> list[int]:
        """The tokens from this position on."""
        return [node.token for node in islice(self.nodes(), self.length - start)][::-1]

    def scores(self) -> list[TokenScores]:
        """The scores of all tokens, as far as there are any."""
        return [node.token_scores for node in self.nodes() if node.token_scores is not None][::-1]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextNode):
            return NotImplemented
        if (self._hash, self.length, self.prompt) != (other._hash, other.length, other.prompt):
            return False
        one: TextNode | None = self
        two: TextNode | None = other
        while one is not two and one is not None and two is not None:
            if one.token != two.token:
                return False
            one, two = one.parent, two.parent
        return True

    def __lt__(self, other: TextNode) -> bool:
        """In the order of prompts, and then of tokens, one after another."""
        return (self.prompt, self.tokens()) < (other.prompt, other.tokens())

    def __repr__(self) -> str:
        return f"TextNode({self.prompt}, {self.tokens()})"
