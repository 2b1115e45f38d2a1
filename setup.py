"""What pyproject.toml cannot say: a wheel with compiled kernels (make kernels) is one of its platform, any other is pure Python.

The library uses Python's stable interface and no glibc newer than 2.14 (kernels/build), so one wheel serves all versions.
"""

import platform
from pathlib import Path

from setuptools import setup
from setuptools.dist import Distribution

HAS_KERNELS = Path(__file__).with_name("grammarlm").joinpath("kernels", "shipped.abi3.so").exists()


class Platform(Distribution):
    def has_ext_modules(self) -> bool:
        return HAS_KERNELS


wheel = {"py_limited_api": "cp310", "plat_name": f"manylinux_2_17_{platform.machine()}"} if HAS_KERNELS else {}
setup(distclass=Platform, options={"bdist_wheel": wheel})
