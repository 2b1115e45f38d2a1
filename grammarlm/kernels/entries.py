"""The CPU kernels as Python calls them: functions of plain integers, compiled ahead of time where that was done, else by numba.

    entries.load("stack")                      before the first mask: nothing compiles in the middle of a text
    entries.row_key(address, length)           a kernel by its name

`shipped.abi3.so` holds all of them as machine code (kernels/build makes it, wheels contain it). It is used only if it was made from
the sources that are here: `shipped.txt` names their digest, and the library's own size and checksum. Everything else is compiled
by numba on first use, and numba is not imported before that.

Pass plain `int`s. A kernel checks no bounds, and the caller keeps the memory of each address alive.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grammarlm.cache import sources_digest
from grammarlm.errors import MissingPackage
from grammarlm.notices import warn

# The kernels by group, each with its module below kernels/cpu. A group is loaded together.
GROUPS = {
    "masks": {
        "fill_row": "table.walk",
        "advance": "table.walk",
        "fill_targets": "table.walk",
        "row_key": "row_key",
        "cut": "tokens.greedy",
    },
    "canonical": {"merge_each": "tokens.merges", "mark_joined": "tokens.merges"},
    "logits": {
        "apply_mask_32": "logits.apply_mask",
        "apply_mask_16": "logits.apply_mask",
        "allowed_sums": "logits.allowed_sum",
        "best_values": "logits.best_values",
        "fill_uniform": "logits.philox",
    },
    "csr": {"csr_advance": "table.csr", "csr_fill_mask": "table.csr", "csr_gather_rows": "table.csr"},
    "stack": {
        "ask": "stack.calls",
        "lalr": "lalr.lookaheads",
        "find_kinds": "tokens.byte_kinds",
        "rehash": "stack.arena",
    },
    "json": {"json_call": "json.call"},
    "json_canvas": {"explore_json": "json.canvas.explore"},
    "suffix": {
        "suffix_append": "suffix.append",
        "suffix_end": "suffix.append",
        "suffix_forget": "suffix.append",
        "suffix_rehash": "suffix.append",
        "suffix_propose": "suffix.propose",
        "suffix_judge": "suffix.propose",
    },
    "substring": {
        "substring_grow": "substring.grow",
        "substring_find": "substring.grow",
        "substring_settle": "substring.grow",
        "substring_pack": "substring.grow",
        "substring_row": "substring.walk",
        "substring_advance": "substring.walk",
        "substring_targets": "substring.walk",
        "substring_read": "substring.walk",
    },
    "canvas": {
        "class_row": "canvas.rows",
        "class_maxima": "canvas.rows",
        "class_sums": "canvas.rows",
        "drawn_member": "canvas.rows",
    },
    "stack_sets": {
        "sets_forward": "canvas.sets.passes",
        "sets_backward": "canvas.sets.passes",
        "sets_classes": "canvas.sets.passes",
        "sets_meet": "canvas.sets.passes",
        "narrow_pass": "canvas.large.narrow",
        "narrow_classes": "canvas.large.narrow_rows",
        "narrow_meet": "canvas.large.narrow_rows",
        "sets_walk": "canvas.sets.walk",
        "sets_of_row": "canvas.search.contexts",
        "guide_row": "canvas.search.guide",
        "guide_stack": "canvas.search.follow",
        "guided_best": "canvas.search.best",
        "guided_draw": "canvas.search.draws",
        "sets_record": "canvas.sets.passes",
        "sets_rehash": "canvas.sets.passes",
        "sets_remember": "canvas.sets.passes",
        "feasible_symbols": "canvas.sets.feasible",
        "table_edges": "canvas.tables.edges",
        "special_effects": "canvas.tables.edges",
        "rehash_kinds": "canvas.tables.edges",
        "classes_by_control": "canvas.tables.edges",
        "edges_by_class": "canvas.tables.edges",
        "refine_blocks": "canvas.tables.blocks",
        "byte_columns": "canvas.tables.blocks",
        "move_vectors": "canvas.tables.vectors",
        "walk_tokens": "canvas.tables.vectors",
        "intern_vector": "canvas.tables.vectors",
        "rehash_vectors": "canvas.tables.vectors",
    },
    "spots": {
        "find_goals": "canvas.large.spots",
        "find_terms": "canvas.large.spots",
        "weigh_spots": "canvas.large.spot_sums",
        "spots_draw": "canvas.large.spot_draws",
        "live_before": "canvas.large.live_spots",
        "live_after": "canvas.large.live_spots",
        "live_pass": "canvas.large.live_spots",
    },
    "items": {"best_entries": "items.step", "norms_of_allowed": "items.step"},
}
MODULES = {name: module for group in GROUPS.values() for name, module in group.items()}
SOURCES = ("kernels/cpu", "layout")  # what all kernels are compiled from

LIBRARY = Path(__file__).with_name("shipped.abi3.so")
FACTS = "shipped.txt"  # beside it
CHOICE = "GRAMMARLM_KERNELS"  # "numba": compile; "shipped": no other than the shipped ones


def load(*groups: str) -> None:
    """Loads these groups of kernels, or all; those that have to be compiled first say so."""
    names = [name for group in groups or GROUPS for name in GROUPS[group] if name not in globals()]
    if names and not are_shipped():
        for name in names:
            _source_of(name)  # first all of them, so that the notice knows how long they take
    for name in names:
        __getattr__(name)


def __getattr__(name: str) -> Callable[..., int]:
    """A kernel at its first use; from then on it is an attribute of this module."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    shipped = _shipped()
    kernel: Callable[..., int] = getattr(shipped, name) if shipped is not None else _compiled(name)
    globals()[name] = kernel
    return kernel


def address_of(array: np.ndarray) -> int:
    """Of an array's memory: `array.ctypes.data` makes an object first."""
    address: int = array.__array_interface__["data"][0]
    return address


def are_shipped() -> bool:
    """Are the kernels compiled ahead of time, so that numba is not needed?"""
    return _shipped() is not None


def _compiled(name: str) -> Callable[..., int]:
    source = _source_of(name)
    from grammarlm.kernels.cpu.jit import direct

    kernel: Callable[..., int] = direct(source)
    return kernel


def _source_of(name: str) -> Any:
    """The kernel as numba compiles it."""
    try:
        importlib.import_module("numba")
    except ImportError as error:
        raise MissingPackage(
            f"the kernel {name} has to be compiled, since {_why_not}; that needs numba, which cannot be imported ({error}): "
            "pip install 'grammarlm[numba]', or install a wheel of grammarlm for this machine"
        ) from error
    return getattr(importlib.import_module(f"grammarlm.kernels.cpu.{MODULES[name]}"), name)


_library: Any = ...  # not looked for yet
_why_not = ""


def _shipped() -> Any:
    """The library, if it is there and made from these sources, for this machine; else None."""
    global _library, _why_not  # noqa: PLW0603
    if _library is ...:
        _library, _why_not = None, "there is no library of compiled kernels here"
        choice = os.environ.get(CHOICE, "")
        if choice == "numba":
            _why_not = f"{CHOICE}=numba asks for it"
        elif LIBRARY.exists():
            try:
                _library = _open(LIBRARY)
            except (ImportError, OSError, ValueError) as error:
                _why_not = f"{LIBRARY} cannot be used: {error}"
                if choice != "shipped":
                    warn("grammarlm.kernels", f"{_why_not}; its kernels are compiled by numba instead")
        if _library is None and choice == "shipped":
            raise MissingPackage(f"{CHOICE}=shipped, but {_why_not}")
    return _library


def _open(path: Path) -> Any:
    """A library is looked at before it is loaded: one that is damaged would crash the process instead of raising an error."""
    expected = dict(line.split() for line in path.with_name(FACTS).read_text(encoding="ascii").splitlines())
    if expected.get("sources") != sources_digest(*SOURCES):
        raise ValueError("it was made from other sources")
    content = path.read_bytes()
    if (expected.get("size"), expected.get("crc32")) != (str(len(content)), str(zlib.crc32(content))):
        raise ValueError("it is damaged")
    loader = importlib.machinery.ExtensionFileLoader("grammarlm.kernels.shipped", str(path))
    spec = importlib.util.spec_from_file_location(loader.name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    missing = sorted(name for name in MODULES if not hasattr(module, name))
    if missing:
        raise ValueError(f"these kernels are missing: {', '.join(missing)}")
    return module
