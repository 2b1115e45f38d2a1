"""What can be proved of the GPU code where there is no GPU, each in a process of its own: here Triton may be interpreting."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is not installed: pip install grammarlm[gpu]")

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from grammarlm.kernels.gpu import canvas_rows, class_scores, csr, item_step
from grammarlm.kernels.gpu.apply_mask import apply_mask_kernel
from grammarlm.kernels.gpu.sample import choose, survey

TYPES = {"mask": "*i32", "seed": "*i64", "position": "*i64", "temperature": "*fp32", "top_k": "*i32", "top_p": "*fp32",
         "min_p": "*fp32", "partials": "*i32", "tokens": "*i64", "logprobs": "*fp32"}
TYPES |= dict.fromkeys(["class_bits", "class_of", "order", "firsts", "ends", "slots", "starts", "parts", "drawn"], "*i32")
TYPES |= {"highest": "*fp32", "sums": "*fp32", "targets": "*fp32", "classes": "*i64"}
ALIGNED = {"logits", "mask", "width", "row_stride", "class_of", "vocabulary"}

def compiled(kernel, logits, types={}, **constants):
    constants = {"column_stride": 1, "rows": None, **constants}
    names, types = kernel.arg_names, {**TYPES, "logits": logits, **types}
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in names}
    constants = {name: value for name, value in constants.items() if name in names}
    attributes = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names) if name in ALIGNED - constants.keys()}
    source = ASTSource(kernel, signature=signature, constexprs=constants, attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm

IS_ALL = "all" in sys.argv
for logits, bits in (("*fp32", "*i32"), ("*bf16", "*i16")) if IS_ALL else (("*bf16", "*i16"),):
    ptx = compiled(apply_mask_kernel, bits, INFINITY=-128, WORDS=64)["ptx"]
    assert "ld.global.v4.b32" in ptx and "st.global.v4.b32" in ptx, "apply_mask_ moves 16 bytes at a time"
    assert ".shared" not in ptx, "and its threads need nothing of each other"
    ptx = compiled(canvas_rows._apply, bits, INFINITY=-128, WORDS=64, ROWS=4)["ptx"]
    vectors = 4 * (4 if logits == "*fp32" else 2)  # of logits, of all rows of one thread
    assert ptx.count("st.global.v4.b32") == vectors, "so does apply_class_rows_"
    assert ptx.count("ld.global.v4.b32") == vectors + 4, "which loads 16 classes once for all of its rows"
    assert ".shared" not in ptx, "and its threads need nothing of each other"
    compiled(class_scores._reduce, logits, {"tokens": "*i32"}, CELLS=1024, NARROW=16, MIDDLE=128, WIDE=1024)
compiled(class_scores._draw, "*fp32", CELLS=4096)
ARRAYS = {"rows", "base", "default", "first", "count", "edge_tokens", "edge_targets", "states", "asked", "mask", "numbers"}
SIZES = {"BLOCK": 64, "WORDS": 64, "HALVINGS": 31}
for kernel in (csr._advance, csr._fill_mask, csr._gather):
    named = dict.fromkeys(SIZES, "constexpr") | dict.fromkeys(ARRAYS, "*i32") | {"tokens": "*i64"}
    kinds = {n: named.get(n, "i32") for n in kernel.arg_names}
    constants = {n: SIZES[n] for n in kernel.arg_names if n in SIZES}
    triton.compile(ASTSource(kernel, signature=kinds, constexprs=constants), target=GPUTarget("cuda", 90, 32))
ITEMS = {"column": "*i32", "next_column": "*i32", "ranges": "*i32", "starts": "*i32", "highs": "*i32", "ends": "*i32",
         "opens": "*i32", "numbers": "*i64", "norms": "*fp32"}
for kernel, choices in (
    (item_step._best_children, [dict(WIDTH=64, LOGITS=1024, HALVINGS=31, IS_ALLOWED=a) for a in (False, True)]),
    (item_step._spans, [dict(BLOCK=1024, HALVINGS=31)]),
):
    for constants, logits in zip(choices, ("*fp32", "*bf16")):
        named = ITEMS | {"logits": logits} | dict.fromkeys(constants, "constexpr")
        kinds = {n: named.get(n, "i32") for n in kernel.arg_names}
        triton.compile(ASTSource(kernel, signature=kinds, constexprs=constants), target=GPUTarget("cuda", 90, 32))
ABSENT = ({"top_p": None}, {"mask": None, "top_k": None}, {"mask": None}, {"top_k": None, "top_p": None, "min_p": None}, {})
for absent in ABSENT if IS_ALL else ABSENT[:2]:
    compiled(survey, "*fp32", **absent)
    compiled(choose, "*fp32", CHUNKS=64, **absent)
compiled(class_scores._combine, "", {"tokens": "*i32"}, MOST=128)
compiled(canvas_rows._expand, "", WORDS=16, ROWS=4)
"""


def run(*arguments, **environment):
    outer = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    command = [sys.executable, *map(str, arguments)]
    here = {"PYTHONPATH": str(ROOT)}  # whatever is installed
    return subprocess.run(
        command, env={**outer, **here, **environment}, cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("variants", ["some", pytest.param("all", marks=pytest.mark.proof)])
def test_the_kernels_compile(variants, tmp_path):
    """The interpreter accepts more Python than the compiler does."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = run(program, variants, TRITON_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_benchmark_compares_rightly():
    done = run("-m", "benchmarks.gpu_kernels", "--interpret", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stderr[-2000:]
