"""The extension module of the kernels' machine code: its C source, and how it is linked."""

import ctypes
import os
import subprocess
import sysconfig
import zlib
from pathlib import Path

from grammarlm.cache import sources_digest
from grammarlm.kernels.entries import FACTS, LIBRARY, MODULES, SOURCES

from .objects import signature_of, symbol

HERE = Path(__file__).parent
CALL = """
static PyObject *call_{name}(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {{
    int64_t given[{count}], result = 0;
    void *error = NULL;
    if (!take(arguments, count, given, {count}, "{name}")) return NULL;
    {begin}int status = chosen->{name}((void *)&result, &error, {given});{end}
    return status == 0 || status == NOTHING ? {give} : failed("{name}");
}}
"""


def write_source(path: Path, cpus: list[str]) -> None:
    """C: a table of functions per kind of CPU, and a Python function per kernel."""
    from numba.core import types

    pointers, calls, methods, externs = [], [], [], []
    for name in MODULES:
        kernel, arguments, result = signature_of(name)
        parameters = ", ".join(["void *", "void **", *["int64_t"] * len(arguments)])
        pointers.append(f"    int (*{name})({parameters});")
        externs += [f"extern int {symbol(cpu, name)}({parameters});" for cpu in cpus]
        lets_others_run = kernel.targetoptions.get("nogil", False)
        calls.append(
            CALL.format(
                name=name,
                count=len(arguments),
                given=", ".join(f"given[{i}]" for i in range(len(arguments))),
                begin="PyThreadState *state = PyEval_SaveThread();\n    " if lets_others_run else "",
                end="\n    PyEval_RestoreThread(state);" if lets_others_run else "",
                give="nothing()" if result == types.void else "PyLong_FromLongLong(result)",
            )
        )
        methods.append(f'    {{"{name}", (PyCFunction)(void (*)(void))call_{name}, METH_FASTCALL, NULL}},')
    tables = [f'    {{"{cpu}", {{{", ".join(symbol(cpu, name) for name in MODULES)}}}}},' for cpu in cpus]
    parts = {"POINTERS": pointers, "EXTERNS": externs, "TABLES": tables, "CALLS": calls, "METHODS": methods}
    text = (HERE / "module.c").read_text(encoding="ascii")
    for mark, lines in parts.items():
        text = text.replace(f"/*{mark}*/", "\n".join(lines))
    choice = [f'    if (__builtin_cpu_supports("{cpu}")) return {i};' for i, cpu in enumerate(cpus)]
    path.write_text(text.replace("/*CHOICE*/", "\n".join(choice)), encoding="ascii")


def link(compiler: list[str], source: Path, objects: list[Path], library: Path = LIBRARY) -> None:
    """The library, and what `entries` checks before it loads it."""
    exports = source.with_name("exports.map")
    exports.write_text("{ global: PyInit_shipped; local: *; };\n", encoding="ascii")
    command = [*compiler, "-shared", "-fPIC", "-O2", f"-I{sysconfig.get_path('include')}", str(source)]
    command += [*map(str, objects), "-o", str(library), "-lm", "-s"]
    command += [f"-Wl,--version-script={exports}", "-Wl,-z,text"]  # text relocations would be an error
    command += [f"-Wl,--wrap={name}" for name in ("exp", "log", "log10")]  # see module.c
    subprocess.run(command, check=True)
    ctypes.CDLL(
        str(library), mode=os.RTLD_NOW
    )  # a function that is nowhere, such as a helper of numba, is an error here
    content = library.read_bytes()
    facts = {"sources": sources_digest(*SOURCES), "size": len(content), "crc32": zlib.crc32(content)}
    library.with_name(FACTS).write_text("".join(f"{name} {value}\n" for name, value in facts.items()), "ascii")
