"""The bytes that an object keeps alive: Python objects and arrays, without what is shared.

A class whose objects are shared by constraints, such as the tables of a vocabulary, says so: IS_SHARED = True.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Set
from typing import Any

import numpy as np

# Through these anything can be reached: of a function, the globals of its module.
_SKIPPED = (
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.FrameType,
    types.MemberDescriptorType,
)

AT_ONCE = 5_000  # objects that one call looks at, during which no other thread runs


def reachable(root: object, known: Set[int] = frozenset()) -> dict[int, int]:
    """Bytes of each object that can be reached from `root`, by its id; not through objects that are shared or known.

    What C extensions keep aside is not seen. About a microsecond for three objects.
    """
    globals_of = {id(vars(module)) for module in list(sys.modules.values()) if module is not None}
    is_skipped: dict[type, bool] = {}
    sizes: dict[int, int] = {}
    level: list[Any] = [root]
    while level:
        fresh, bases = [], []
        for each in level:
            here, kind = id(each), type(each)
            if here in sizes or here in known or here in globals_of:
                continue
            if kind not in is_skipped:
                is_skipped[kind] = issubclass(kind, _SKIPPED) or getattr(kind, "IS_SHARED", False)
            if is_skipped[kind] and each is not root:
                continue
            sizes[here] = sys.getsizeof(each, 64)
            fresh.append(each)
            if kind is np.ndarray and each.base is not None:  # not seen by the collector
                bases.append(each.base)
        level = bases
        for at in range(0, len(fresh), AT_ONCE):
            level += gc.get_referents(*fresh[at : at + AT_ONCE])
    return sizes
