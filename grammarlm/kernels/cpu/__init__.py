"""Kernels on the CPU, compiled by numba (jit.py): a folder for each machine, and one for logits."""
