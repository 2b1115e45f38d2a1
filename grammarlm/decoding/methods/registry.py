"""What `generate(method=...)` takes: a name, a blend of logits or a search over texts.

    "masked", "beam", ...        a name of systems.py
    @blend(...)  def f(...)      a function of rows of logits, inside the loop of "masked" (blends.py)
    @search  def f(tree, n)      a function of the tree of texts (searches.py)

A method is called with a Request (request.py), which has everything checked and prepared, and its own options; it returns the
answers, n of the first prompt, n of the second, ... The registered ones are imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grammarlm.decoding.arguments import check_choice
from grammarlm.decoding.readers.mask_facts import fills_masks
from grammarlm.decoding.result import Result
from grammarlm.decoding.systems import METHODS, system

from .blends import Blended
from .searches import Searched


def method_for(model: Any, method: Any) -> Any:
    """The method for a model: "masked", the default, means "diffusion" where the model is known to fill in masks."""
    return "diffusion" if method == "masked" and fills_masks(model) else method


def method_of(method: Any) -> Callable[..., list[Result]]:
    """The function of a method; its options are its keyword-only arguments."""
    if isinstance(method, (Blended, Searched)):
        return method
    if callable(method):
        raise TypeError(
            f"method is {method!r:.100}, and nothing says what it is a function of: put @blend(...) before a function of logits, "
            "or @search before one of a tree of texts, both of grammarlm.decoding"
        )
    check_choice("method", method, METHODS)
    found: Callable[..., list[Result]] = system(METHODS[method])
    return found
