"""Named constants shared by Python and kernels: IntEnum members in Python, plain integers in numba.

    class Place(Constants):
        CLASSES = 0
        STATES = 1

    arena[Place.STATES]         the same in a kernel and outside

numba types a member of an ordinary IntEnum as an enum, which only some versions accept as an index. In a kernel a member of these
classes is an int64 constant, which all versions accept (kernels/cpu/constants.py).
"""

from enum import EnumMeta, IntEnum


class ConstantsMeta(EnumMeta):
    """Lets numba distinguish these classes from other IntEnums."""


class Constants(IntEnum, metaclass=ConstantsMeta):
    """Base class of all of them."""
