"""What lies where: the constants and the arrays that Python writes and kernels read. A leaf: it imports nothing of ours."""
