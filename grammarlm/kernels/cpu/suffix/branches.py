"""The runs of a proposal and the branches beside them: which is the next one, which are the same, which tokens are too many."""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.layout.suffix import CHOICES, NOTHING, SideBranch


@part
def note(choices, chance, source, node, run, kept, match):
    number = int64(choices[0, 0]) + 1
    if number <= CHOICES:
        choices[0, 0] = number
        choice = choices[number]
        choice[SideBranch.CHANCE], choice[SideBranch.SOURCE], choice[SideBranch.NODE] = chance, source, node
        choice[SideBranch.RUN], choice[SideBranch.KEPT], choice[SideBranch.MATCH] = run, kept, match


@part
def best_choice(choices):
    best = int64(NOTHING)
    for number in range(1, int64(choices[0, 0]) + 1):
        chance = choices[number, SideBranch.CHANCE]
        if chance > 0 and (best == NOTHING or chance > choices[best, SideBranch.CHANCE]):
            best = number
    return best


@part
def arrange(draft, first):
    """Puts this tree's run first; branches of the other one that say the same are branches of the first."""
    runs, choices = draft.runs, draft.choices
    if first != 0:
        for k in range(runs.shape[1]):
            runs[0, k], runs[1, k] = runs[1, k], runs[0, k]
            draft.chances[0, k], draft.chances[1, k] = draft.chances[1, k], draft.chances[0, k]
    is_same = not is_new(runs, 1)
    for number in range(1, int64(choices[0, 0]) + 1):
        choices[number, SideBranch.RUN] = 0 if is_same else int64(choices[number, SideBranch.RUN] != first)


@part
def is_new(runs, run):
    """Does no earlier run begin with this one?"""
    for earlier in range(run):
        k = int64(0)
        while k < runs[run, 0] and k < runs[earlier, 0] and runs[run, 1 + k] == runs[earlier, 1 + k]:
            k += 1
        if k == runs[run, 0]:
            return False
    return True


@part
def trim(draft, count, most):
    """Takes the least likely last tokens away until the runs have at most so many nodes.

    Chances fall along a path, so that a branch is taken away before what it branches from; of equals the later one.
    """
    runs, chances = draft.runs, draft.chances
    nodes = int64(0)
    for run in range(count):
        nodes += runs[run, 0] - int64(chances[run, 0])
    while nodes > most:
        worst = int64(NOTHING)
        for run in range(count):
            last = runs[run, 0]
            if last > chances[run, 0] and (worst == NOTHING or chances[run, last] <= chances[worst, runs[worst, 0]]):
                worst = run
        runs[worst, 0] -= 1
        if runs[worst, 0] == chances[worst, 0]:
            runs[worst, 0] = 0
        nodes -= 1
