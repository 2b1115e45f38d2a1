"""Layout: the constants and arrays that Python writes and kernels read. A leaf package: it imports nothing else of the project."""
