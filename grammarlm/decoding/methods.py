"""The table of `generate(method=...)`.

A method is a function of a Request (request.py), which has everything checked and prepared, and of its own options; it returns the
answers, n of the first prompt, n of the second, ... Each is in a file of its own and imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from .arguments import check_choice

if TYPE_CHECKING:
    from .result import Result

# name -> module and function
METHODS = {
    "masked": ("masked", "masked"),
    "awrs": ("weighted", "awrs"),
    "smc": ("weighted", "smc"),
    "best_of": ("best_of", "best_of"),
    "beam": ("grammar_beam", "beam"),
    "lookahead": ("lookahead", "lookahead"),
    "trials": ("lookahead", "trials"),
}


def method_of(name: str) -> Callable[..., list[Result]]:
    """The function of a method; its options are its keyword arguments."""
    check_choice("method", name, METHODS)
    module, function = METHODS[name]
    found: Callable[..., list[Result]] = getattr(import_module(f".{module}", __package__), function)
    return found
