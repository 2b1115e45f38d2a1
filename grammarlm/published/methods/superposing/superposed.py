"""method="superposed": several answers for the forwards of one.

    outs = gl.generate(model, prompt, schema=Title, method="superposed", drafts=4, n=4)
    gl.generate(model, prompt, schema=Title, method="superposed", ngrams=table, alpha=0.5)

All drafts are one text for the model: each id is a mixture of their last tokens' embeddings, by their shares (superposed_rows.py),
and the row of logits that comes back is that of each of them. What of it belongs to which draft is told by the grammar, as every
draft has a state of its own and takes the best tokens of its own mask, and by `ngrams`, which knows what goes with what. The best
`drafts` of all continuations go on; those that spell one text are one. One draft is "masked" at temperature 0.

    drafts   how many texts are kept
    ngrams   a function of a list of ids, the prompt included, and a list of ids that may come next: the log-probability of each
    alpha    its share: a token counts (1 - alpha) log p + alpha of what ngrams says; 0.5 where there is one

Purpose: several answers. Forwards: one a token, of one row. Law: none, nothing is drawn; a row is about no single draft, the less
the more they differ. Not for answers that must be the best ones: "beam" reads each of them.

Source: Superposed Decoding (Multiple Generations from a Single Autoregressive Inference Pass).
"""

from __future__ import annotations

from dataclasses import replace

from grammarlm.decoding.arguments import MOST_ANSWERS, check_function, check_integer, check_number
from grammarlm.decoding.tree.steps import Dead, Steps
from grammarlm.decoding.tree.tree import Candidate, Tree, came_to_nothing, continuations

from .ngrams import Ngrams, said
from .superposed_rows import SuperposedSearch, SuperposedTree


@SuperposedSearch  # type: ignore[arg-type]  # its tree is a SuperposedTree
def superposed(
    tree: Tree, n: int, *, drafts: int = 3, alpha: float | None = None, ngrams: Ngrams | None = None
) -> list[Candidate]:
    """The best texts of so many drafts that share each forward; nothing is sampled."""
    assert isinstance(tree, SuperposedTree)
    check_integer("drafts", drafts, 1, MOST_ANSWERS)
    check_function("ngrams", ngrams)
    check_number("alpha", alpha, lambda a: 0 <= a <= 1, "from 0 (the model alone) to 1 (ngrams alone)", optional=True)
    if alpha is not None and ngrams is None:
        raise ValueError(f"alpha={alpha} without ngrams=, whose share it is")
    if n > drafts:
        raise ValueError(f"n={n} with drafts={drafts}; there are as many answers as drafts: drafts={n} or more")
    if tree.sampling.temperature:
        raise ValueError('temperature= with method="superposed", which draws nothing; leave it out')
    share = (0.5 if alpha is None else alpha) if ngrams else 0.0
    kept = [tree.root]
    while growing := [one for one in kept if not one.is_over]:
        tree.share([one.text for one in growing], [-one.cost for one in growing])
        level = [one for one in kept if one.is_over]
        steps = tree.steps([one.text for one in growing]).check()
        for one, own in zip(growing, steps.split(), strict=True):
            level += continued(tree, one, own, drafts, share, ngrams)
        if not level:
            raise Dead(growing[0].text, came_to_nothing(tree, steps, steps.log_left()))
        best: dict[tuple[bytes, bool], Candidate] = {}
        for one in sorted(level):
            best.setdefault((tree.data(one.text), one.is_over), one)
        kept = list(best.values())[:drafts]
    return sorted(kept)


def continued(
    tree: Tree, draft: Candidate, steps: Steps, width: int, share: float, ngrams: Ngrams | None
) -> list[Candidate]:
    """The best tokens of the draft's own mask, and its end."""
    found = continuations(tree, steps, [draft.cost], width)
    if ngrams is None or not found:
        return found
    stop = tree.vocab.stop_ids[0]
    tokens = [one.text.token if one.text.length > draft.text.length else stop for one in found]
    ids = [*tree.specs[0].prompt, *draft.text.tokens()]
    told = said(ngrams, ids, tokens, tree.written(draft.text))
    return [
        replace(one, cost=draft.cost + (1 - share) * (one.cost - draft.cost) - share * log_p)
        for one, log_p in zip(found, told, strict=True)
    ]
