"""Kernels: the code that runs per token, on arrays only. cpu/ is numba, gpu/ is triton; reference*.py define both in plain
numpy.
"""
