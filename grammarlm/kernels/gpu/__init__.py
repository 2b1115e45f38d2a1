"""Kernels on the GPU, compiled by triton."""
