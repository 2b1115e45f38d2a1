"""ARRAYS ONLY: what runs per token. cpu/ is numba, gpu/ is triton, reference.py says in plain numpy what both mean."""
