"""Named constants that kernels and Python share: members of an IntEnum to Python, plain integers to numba.

    class Place(Constants):
        CLASSES = 0
        STATES = 1

    arena[Place.STATES]         the same in a kernel and outside

numba gives a member of an ordinary IntEnum a type of its own, and only some versions take that as an index. In a kernel a member of
these classes is an int64 constant, which all versions take.
"""

from enum import EnumMeta, IntEnum
from typing import Any

from numba.core import types
from numba.extending import models, register_model, typeof_impl


class _ConstantsMeta(EnumMeta):
    """How numba tells these classes from other IntEnums."""


class Constants(IntEnum, metaclass=_ConstantsMeta):
    """The base of all of them."""


class _ConstantsClass(types.IntEnumClass):
    """A class of constants in a kernel: numba reads a member as `member_type`."""

    @property
    def member_type(self) -> Any:
        return self.dtype


register_model(_ConstantsClass)(models.OpaqueModel)  # nothing of a class is there when a kernel runs


@typeof_impl.register(_ConstantsMeta)
def _type_of_constants(value: Any, context: Any) -> Any:
    return _ConstantsClass(value, types.int64)
