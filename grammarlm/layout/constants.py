"""Named constants that kernels and Python share: members of an IntEnum to Python, plain integers to numba.

    class Place(Constants):
        CLASSES = 0
        STATES = 1

    arena[Place.STATES]         the same in a kernel and outside

numba gives a member of an ordinary IntEnum a type of its own, and only some versions take that as an index. In a kernel a member of
these classes is an int64 constant, which all versions take (kernels/cpu/constants.py).
"""

from enum import EnumMeta, IntEnum


class ConstantsMeta(EnumMeta):
    """How numba recognises these classes among other IntEnums."""


class Constants(IntEnum, metaclass=ConstantsMeta):
    """The base of all of them."""
