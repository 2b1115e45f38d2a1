"""CARS (Constrained Adaptive Rejection Sampling): draws that share a trie of what is refuted, and enter no dead end twice.

A node is a text that a draw has come to, with what the model says after it. A token has a share there: how much of what the model
writes after it may still be valid, an upper bound. It is 1 where nobody has been, 0 where the token is refuted, else the mass that
is left at its own node. A draw takes tokens by p times share, renormalised by its sum R, with the weight R / share; so whatever
is known, log q + log weight = log p. The more is known, the more alike are the weights: in the end each is the mass of all valid
texts, and the draws follow the model's law given the constraint.

A node that is known costs no forward, but draws are made one after another and share none. Of use where many draws of short texts
run into the same dead ends.
"""

from __future__ import annotations

import math

import numpy as np

from grammarlm.decoding.failures import Ending, RowFailure
from grammarlm.decoding.logits.sampling import Sampling, draw, uniforms
from grammarlm.decoding.predicate import run_together
from grammarlm.decoding.tree.branches import Branches
from grammarlm.decoding.tree.steps import log_sum
from grammarlm.decoding.tree.text_node import TextNode, TokenScores

from .exponential_race import arrivals
from .refuted import Node, Trie
from .rejection import NO_TOKEN, Drawn, Rejection


class Remembering:
    """All draws of one call of generate()."""

    def __init__(self, branches: Branches, how: Rejection):
        self._branches, self._how, self._trie = branches, how, Trie(branches)

    def draw(self, text: TextNode, sampling: Sampling) -> tuple[TextNode, float, Ending | None]:
        """A text, the log of its weight, and how it ends where it has no value."""
        log_weight, way, stops = 0.0, list[tuple[Node, int]](), self._branches.stops
        try:
            while not (way and way[-1][1] in stops) and not self._branches.is_full(text):
                node = self._trie.node(text)
                mass = log_sum(node.left)
                drawn = self._drawn(node, text, sampling, mass)
                token = drawn.token
                way.append((node, token))
                if token == NO_TOKEN:
                    return text, -math.inf, self._ending(node, text)
                log_weight += drawn.log_weight - node.shares.get(token, 0.0)
                if token not in stops:
                    own, model = min(float(node.left[token]) - mass, 0.0), float(node.steps.model[0, token])
                    text = text.child(token, TokenScores(own, model, node.steps.mass_removed(0)))
            return text, log_weight, None
        except RowFailure as failure:
            return text, -math.inf, Ending.of(failure)
        finally:
            self._trie.learn(way)

    def _drawn(self, node: Node, text: TextNode, sampling: Sampling, mass: float) -> Drawn:
        if mass == -math.inf:
            return Drawn()
        if self._branches.specs[text.prompt].where is None:
            return Drawn(draw(node.left, sampling, text.length)[0], mass)
        race = self._how.draw(arrivals(node.left, uniforms(len(node.left), sampling.seed, text.length)))
        [found] = run_together([(text, race)], lambda pairs: self._answers(node, pairs))
        node.learn_answers()
        if isinstance(found, Exception):
            raise found
        return found

    def _answers(self, node: Node, pairs: list[tuple[TextNode, int]]) -> list[bool | RowFailure]:
        """What the predicate says; it is asked about each text once."""
        new = [pair for pair in pairs if pair[1] not in node.answers]
        found = dict(zip(new, self._branches.holds(new), strict=True))
        node.answers.update({token: answer for (_, token), answer in found.items() if isinstance(answer, bool)})
        return [found[pair] if pair in found else node.answers[pair[1]] for pair in pairs]

    def _ending(self, node: Node, text: TextNode) -> Ending:
        if self._branches.specs[text.prompt].where is None or not np.isfinite(node.steps.allowed).any():
            return node.steps.nothing_left(0)
        return Ending.unsatisfied(text.length, self._branches.data(text))
