"""The machines that have a view: a new one is one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from grammarlm.errors import UnsupportedFeature, brief

from .protocol import View

if TYPE_CHECKING:
    from grammarlm.masks.compiled import Compiled

HOMES = {  # machine: "module:function" that makes a constraint's view; imported on first use
    "items": ".items:ItemsView",
    "json": ".json.view:JsonView",
    "parts": ".parts.view:PartsView",
    "stack": ".stack.grammars.view:CfgView",
    "regular": ".regular:RegularView",
    "substring": ".substring:view_of_quotes",
}


def view_of(constraint: Compiled) -> View:
    """A new view; UnsupportedFeature where the constraint has none."""
    if constraint._canonical is not None:
        raise UnsupportedFeature(
            "a canvas with canonical_only=True: which tokens are canonical depends on the token before, which may be masked; "
            "leave canonical_only out"
        )
    name = constraint._automaton.machine
    home = HOMES.get(name)
    if home is None:
        raise UnsupportedFeature(
            f"a canvas over {brief(constraint.grammar, 80)}: the {name} machine has no view for canvases yet; "
            f"there are views of {', '.join(HOMES)}"
        )
    module, function = home.split(":")
    view: View = getattr(import_module(module, __package__), function)(constraint._automaton)
    return view
