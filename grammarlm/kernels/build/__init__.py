"""Compiles all CPU kernels ahead of time into one extension module, so that using them needs no compiler, numba or llvmlite.

    python -m grammarlm.kernels.build            (make kernels)

objects.py makes the machine code of each kernel, as numba does, but for named kinds of CPU instead of this machine's, position
independent, and without numba's wrappers for Python. extension.py writes a C module that calls the kernels with plain
integers (module.c), and links both. A library holds a kernel once per kind of CPU and chooses when it is loaded.

The result, shipped.abi3.so and shipped.txt beside kernels/entries.py, is valid for the sources that it was made from.
"""
