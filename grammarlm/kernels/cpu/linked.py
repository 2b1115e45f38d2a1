"""Compilation of functions that are linked into kernels: not optimized separately.

numba optimizes a function together with all that it calls and generates machine code for it, and does so again in each caller. A
leaf eight calls below its kernel is optimized nine times. So such a function is only typed and lowered; its kernel, into which
all of them are linked, is optimized once.

It has no machine code of its own, so only compiled functions can call it.
"""

import ctypes
from typing import Any

import numba
from numba.core import compiler, typed_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import AnalysisPass, register_pass

# Called with a Python function's arguments, it raises TypeError: the result of calling such a function from Python.
_REFUSAL = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value


class _NoMachineCode:
    """Stub for the code generator, which numba gives the environment of a function that is ready to run."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _LinkedLibrary(JITCodeLibrary):
    """The library that numba links into a function's callers, neither optimized nor compiled to machine code."""

    codegen = _NoMachineCode()

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> Any:
        self._ensure_finalized()
        return _REFUSAL


@register_pass(mutates_CFG=False, analysis_only=True)
class _ChooseLibrary(AnalysisPass):
    _name = "choose_linked_library"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        return False


class _LinkedCompiler(compiler.CompilerBase):
    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_ChooseLibrary, typed_passes.AnnotateTypes)
        passes.finalize()
        return [passes]


def compile_linked(function: Any) -> Any:
    return numba.njit(error_model="numpy", pipeline_class=_LinkedCompiler)(function)
