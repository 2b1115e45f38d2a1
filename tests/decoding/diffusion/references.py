"""What each sampler does, in ten lines of plain Python each, for rows without a constraint.

A reference gets the probabilities of each masked position as a list over ids, and what the schedule asks for at least; it returns
positions and ids in order. `memory` is a dict that it may write to.
"""

import math

import numpy as np

from tests.decoding.diffusion.mock_models import MASK, TEXT_IDS


def softmax(logits):
    """Over the ids that may be written: {id: p}."""
    top = max(logits[token] for token in TEXT_IDS)
    weights = {token: math.exp(logits[token] - top) for token in TEXT_IDS}
    return {token: weight / sum(weights.values()) for token, weight in weights.items()}


def best(p):
    return max(p, key=lambda token: (p[token], -token))


def top(p):
    return p[best(p)]


def gap(p):
    first, second = sorted(p.values())[:-3:-1]
    return math.log(first / second)


def surest(laws):
    return sorted(laws, key=lambda at: (-top(laws[at]), at))


def at_least(order, wanted, share):
    """Those that are wanted, and the next ones in order until there are enough."""
    rest = [at for at in order if at not in wanted]
    return [at for at in order if at in wanted] + rest[: max(0, share - len(wanted))]


def best_ids(laws, positions):
    return [(at, best(laws[at])) for at in positions]


def fixed(laws, share, **_):
    return best_ids(laws, surest(laws)[:share])


def confidence(laws, share, tau=0.9, **_):
    return best_ids(laws, at_least(surest(laws), {at for at in laws if top(laws[at]) >= tau}, share))


def entropy(laws, share, tau=0.5, **_):
    found = {at: -sum(x * math.log(x) for x in p.values() if x) for at, p in laws.items()}
    order = sorted(laws, key=lambda at: (found[at], at))
    return best_ids(laws, at_least(order, {at for at in laws if found[at] <= tau}, share))


def sched(laws, share, step, steps, tau=7.5, floor=2.5, **_):
    threshold = tau + (floor - tau) * step / steps
    if sum(map(gap, laws.values())) / len(laws) >= threshold:
        return best_ids(laws, sorted(laws))
    return fixed(laws, share)


def prophet(laws, share, step, steps, gaps=(7.5, 5.0, 2.5), **_):
    threshold = gaps[0 if step < steps / 3 else 1 if step < 2 * steps / 3 else 2]
    if sum(map(gap, laws.values())) / len(laws) >= threshold:
        return best_ids(laws, sorted(laws))
    return fixed(laws, share)


def credit(laws, share, memory, alpha=0.6, beta=0.7, gamma=0.5, tau=0.9, **_):
    fused = {}
    for at, p in laws.items():
        mine = memory.setdefault(at, {})
        for token in mine:
            mine[token] *= beta
        mine[best(p)] = mine.get(best(p), 0.0) + top(p) ** gamma
        fused[at] = softmax(
            [-math.inf if t not in p else math.log(p[t]) + alpha * math.log1p(mine.get(t, 0)) for t in range(22)]
        )
    return confidence(fused, share, tau=tau)


def policy(laws, share, policy=None, tau=0.9, **_):
    if policy is None:
        return confidence(laws, share, tau=tau)
    said = dict(zip(sorted(laws), policy(np.array([top(laws[at]) for at in sorted(laws)])), strict=True))
    return best_ids(laws, at_least(surest(laws), {at for at in laws if said[at]}, share))


def history(laws, share, memory, window=3, tau=0.9, **_):
    past = memory.setdefault("past", [])
    seen = [laws, *([] if window == 1 else past[1 - window :])]
    mean = {at: {t: sum(each[at][t] for each in seen) / len(seen) for t in p} for at, p in laws.items()}
    past.append(laws)
    return confidence(mean, share, tau=tau)


def leap(laws, share, tau=0.9, relaxed=0.75, w=4, **_):
    anchors = [at for at in laws if top(laws[at]) >= tau]
    near = (
        {at for at in laws if top(laws[at]) >= relaxed and any(abs(at - one) <= w for one in anchors)} if w else set()
    )
    return best_ids(laws, at_least(surest(laws), {*anchors, *near}, share))


def explore(laws, share, tau=0.9, bits=1.0, count=1, **_):
    sure = [at for at in surest(laws) if top(laws[at]) >= tau]
    found = {at: -sum(x * math.log(x) for x in p.values() if x) for at, p in laws.items()}
    unsure = sorted((at for at in laws if at not in sure), key=lambda at: (-found[at], at))
    low = -sum(math.log2(top(laws[at])) for at in sure) < bits
    chosen = sure + (unsure[:count] if low else [])
    rest = [at for at in surest(laws) if at not in chosen]
    return best_ids(laws, chosen + rest[: max(0, share - len(chosen))])


def adablock(laws, share, memory, length, block=32, tau=0.9, tau_d=0.3, delimiters=(), window=0.25, **_):
    start = min(laws)
    if start >= memory.get("end", -1):
        near = [at for at in laws if at < start + max(1, math.ceil(window * length)) and top(laws[at]) >= tau_d]
        ends = [at for at in near if chr(96 + best(laws[at])) in delimiters]
        memory["end"] = 1 + max(ends, key=lambda at: (top(laws[at]), -at)) if ends else start + block
    inside = {at: p for at, p in laws.items() if at < memory["end"]}
    return confidence(inside, min(share, len(inside)), tau=tau)


def bounded(laws, share, memory, lo=0.5, hi=0.95, beta=0.7, block=32, **_):
    start = min(laws)
    if start >= memory.get("end", -1):
        memory["end"] = start + block
    inside = {at: p for at, p in laws.items() if at < memory["end"]}
    now = sum(map(top, inside.values())) / len(inside)
    memory["mean"] = beta * memory["mean"] + (1 - beta) * now if "mean" in memory else now
    return confidence(inside, min(share, len(inside)), tau=min(max(memory["mean"], lo), hi))


def regions(laws, share, memory, tau=0.9, **_):
    runs = memory.setdefault("runs", [])
    for at in sorted(laws) if not runs else ():
        runs.append([at]) if not runs or runs[-1][-1] != at - 1 else runs[-1].append(at)
    leaders = [
        at for at in surest(laws) if at == next(o for o in surest(laws) if any(at in r and o in r for r in runs))
    ]
    rest = [at for at in surest(laws) if at not in leaders]
    sure = [at for at in rest if top(laws[at]) >= tau]
    return best_ids(laws, [*leaders, *rest[: max(len(sure), share - len(leaders))]])


def run(model, holes, rule, steps=None, **options):
    """(steps as lists of positions, the row, model calls): a sampler over the whole row, from its reference."""
    row, memory, trace, step = list(holes), {}, [], 0
    steps = sum(token < 0 for token in row) if steps is None else steps
    while masked := [at for at, token in enumerate(row) if token < 0]:
        logits = model.row([MASK if token < 0 else token for token in row])
        laws = {at: softmax(logits[at].astype(np.float32).tolist()) for at in masked}
        share = math.ceil(len(masked) / max(1, steps - step))
        chosen = rule(laws, share, memory=memory, step=step, steps=steps, length=len(row), **options)
        others = [at for at in surest(laws) if at not in dict(chosen)]
        chosen += best_ids(laws, others[: max(0, share - len(chosen))])  # a sampler's own block may be smaller
        for at, token in chosen:
            row[at] = token
        trace.append([at for at, _ in chosen])
        step += 1
    return trace, row, step
