"""Makes numba read the constants of layout/constants.py as plain integers."""

from typing import Any

from numba.core import types
from numba.extending import models, register_model, typeof_impl

from grammarlm.layout.constants import ConstantsMeta


class _ConstantsClass(types.IntEnumClass):
    """The type of a class of constants in a kernel: numba reads a member as `member_type`."""

    @property
    def member_type(self) -> Any:
        return self.dtype


register_model(_ConstantsClass)(models.OpaqueModel)  # the class has no representation at run time


@typeof_impl.register(ConstantsMeta)
def _type_of_constants(value: Any, context: Any) -> Any:
    return _ConstantsClass(value, types.int64)
