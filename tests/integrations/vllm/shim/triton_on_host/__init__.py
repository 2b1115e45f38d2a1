"""A Triton backend named "cpu" that compiles nothing: with TRITON_INTERPRET=1 vLLM's model runner V2 runs without a GPU.

Its folder stands on PYTHONPATH only where V2 is tested: with it vLLM takes V2 for granted.
"""
