"""llama.cpp: the processor alone, and in the real library where that is installed (make test-llama-cpp)."""
