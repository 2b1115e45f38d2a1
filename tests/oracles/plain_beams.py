"""Beam search over a dictionary trie: the plainest one, with everything that the contract says.

`model(prefix)` gives the logits behind a prefix, float32; full log-probabilities are torch's own, so that sums are equal to the
bit.
"""

import math

import torch


def log_probabilities(logits, allowed=None):
    if allowed is None:
        return torch.log_softmax(torch.as_tensor(logits), -1).tolist()
    values = [float(logits[t]) for t in allowed]
    peak = max(values)
    total = peak + math.log(sum(math.exp(v - peak) for v in values))
    return [float(v) - total for v in logits]


def plain_beams(model, items, beams, stop=None, normalise="full"):
    """[(score, item)], best first; each level keeps the best of finished items and open prefixes, equal ones by their tokens."""
    items = set(items)
    trie = {}
    for item in items:
        node = trie
        for token in item:
            node = node.setdefault(token, {})

    def node_of(prefix):
        node = trie
        for token in prefix:
            node = node[token]
        return node

    finished = [(0.0, ())] if () in items and stop is None else []
    open_prefixes = [(0.0, ())] if node_of(()) or (stop is not None and () in items) else []
    while open_prefixes:
        candidates = [(-score, (*item, -1), False) for score, item in finished]
        for score, prefix in open_prefixes:
            children = sorted(node_of(prefix))
            allowed = children + ([stop] if stop is not None and prefix in items else [])
            logp = log_probabilities(model(prefix), None if normalise == "full" else allowed)
            for token in children:
                longer, gained = (*prefix, token), -(score + logp[token])
                if stop is None and longer in items:
                    candidates.append((gained, (*longer, -1), False))
                if stop is not None or node_of(longer):
                    candidates.append((gained, (*longer, 0), True))
            if stop is not None and prefix in items:
                candidates.append((-(score + logp[stop]), (*prefix, -1), False))
        kept = sorted(candidates)[:beams]
        finished = [(-cost, tokens[:-1]) for cost, tokens, is_open in kept if not is_open]
        open_prefixes = [(-cost, tokens[:-1]) for cost, tokens, is_open in kept if is_open]
    return finished
