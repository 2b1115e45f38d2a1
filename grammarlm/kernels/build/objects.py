"""Machine code of the kernels: `python -m grammarlm.kernels.build.objects FOLDER NAMES CPU ...` (names joined by commas).

numba compiles a kernel to LLVM's optimized intermediate code once, for the first CPU; the code generator then makes machine code
of it for each. A process of its own, since numba reads the CPU's name when it is imported.
"""

import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

from grammarlm.kernels.entries import MODULES


def symbol(cpu: str, name: str) -> str:
    return f"grammarlm_{cpu.replace('-', '_')}_{name}"


def emit(folder: Path, names: list[str], cpus: list[str]) -> None:
    """Writes FOLDER/CPU/NAME.o for each kernel and each kind of CPU."""
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = cpus[0], ""
    import llvmlite.binding as llvm
    from numba.core import compiler
    from numba.core.registry import cpu_target

    context = cpu_target.target_context  # the first access makes LLVM ready
    target = llvm.Target.from_default_triple()
    machines = {cpu: target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default") for cpu in cpus}
    for name in names:
        start = time.perf_counter()
        kernel, arguments, result = signature_of(name)
        flags: Any = compiler.Flags()
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True  # they refer to Python
        flags.nrt = True  # kernels that allocate: module.c has what they call
        flags.error_model = kernel.targetoptions["error_model"]
        made = compiler.compile_extra(cpu_target.typing_context, context, kernel.py_func, arguments, result, flags, {})
        bitcode = made.library._final_module.as_bitcode()
        sizes = []
        for cpu, machine in machines.items():
            module = llvm.parse_bitcode(bitcode)  # a copy: generating code changes it
            module.get_function(made.fndesc.mangled_name).name = symbol(cpu, name)
            code = machine.emit_object(module)
            (folder / cpu).mkdir(parents=True, exist_ok=True)
            (folder / cpu / f"{name}.o").write_bytes(code)
            sizes.append(f"{len(code):,}")
        print(f"{name}: {', '.join(sizes)} bytes, {time.perf_counter() - start:.1f} s", flush=True)


def signature_of(name: str) -> tuple[Any, Any, Any]:
    """(the dispatcher, types of its arguments, type of its result)"""
    from numba.core import sigutils, types

    from grammarlm.kernels.cpu.jit import SIGNATURES

    kernel = getattr(importlib.import_module(f"grammarlm.kernels.cpu.{MODULES[name]}"), name)
    arguments, result = sigutils.normalize_signature(SIGNATURES[kernel])
    if any(argument != types.int64 for argument in arguments) or result not in (types.int64, types.void):
        raise TypeError(f"the kernel {name} takes {arguments} and returns {result}: only int64 and void can be called")
    return kernel, arguments, result


if __name__ == "__main__":
    emit(Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:])
