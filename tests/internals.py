"""Where the tests reach into the package: what it keeps to itself, each by a name that says what it is.

Behaviour is tested through the public names. Some laws are about what no answer shows: which states share a row, what a full epoch
still holds, whether a second text was found in a cache. They ask here, so a change inside the package is a change of this file.
"""

from collections.abc import Callable
from typing import Any

import grammarlm as gl
from grammarlm.masks.canvas.json.states.explored import States
from grammarlm.masks.filters.budget import costs_of
from grammarlm.masks.machines.stack.epoch import StackEpoch
from grammarlm.masks.machines.stack.states import StateMaker
from grammarlm.masks.saved import snapshot, store

GRAMMAR_MAGIC, GRAMMAR_VERSION = store._MAGIC, store._VERSION  # what the bytes of a constraint begin with
SNAPSHOT_MAGIC, SNAPSHOT_VERSION = snapshot._MAGIC, snapshot._VERSION


def automaton_of(owner: Any) -> Any:
    """Of a constraint, or of a matcher."""
    return owner._automaton


def program_of(owner: Any) -> Any:
    return automaton_of(owner).program


def current_epoch(constraint: gl.Constraint) -> Any:
    """The generation of states in which new texts begin."""
    return automaton_of(constraint).epoch


def head_of(matcher: gl.Matcher) -> tuple:
    """(trail, epoch, state, step, ...): where a text stands."""
    return matcher._head


def epoch_of(matcher: gl.Matcher) -> Any:
    """The generation of states in which a text stands."""
    return head_of(matcher)[1]


def state_of(matcher: gl.Matcher) -> int:
    return head_of(matcher)[2]


def made_in(matcher: gl.Matcher, how: Callable[[Any, int], Any]) -> Any:
    """What is made of an epoch and a state under the lock, in a new epoch where the old one is full."""
    return matcher._made(how)


def grow(epoch: StackEpoch, *fields: Any) -> None:
    """Longer arrays, as where one is full."""
    epoch.arena.grow(*fields)


def supplier() -> Callable[[StateMaker, int], None]:
    """What makes whatever a kernel said was missing; taken before a test puts something else in its place."""
    return StateMaker.supply


def steps_at_sight(matcher: gl.Matcher, left: int) -> int:
    """How many tokens need no look at a budget of so many."""
    return made_in(matcher, lambda epoch, state: costs_of(epoch).safe_steps(epoch, state, left))


def growth_of(matcher: gl.Matcher) -> int | None:
    """How many tokens more the shortest completion of a JSON text takes after one token, at most; None where that is not what the
    costs of its schema are bounded by (items that are objects or arrays must differ)."""

    def growth(epoch: Any, state: int) -> int | None:
        costs: Any = costs_of(epoch)
        return costs.growth(epoch) if hasattr(costs, "growth") else None

    found: int | None = made_in(matcher, growth)
    return found


def canvas_states(constraint: gl.Constraint) -> int:
    """How many states a schema's canvases know: those that its texts lead to, and what rows that begin in a text added."""
    view: Any = constraint.as_filled._view
    return int(view._of(States(view.spelled)).source.count)
