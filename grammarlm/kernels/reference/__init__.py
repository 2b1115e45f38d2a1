"""What kernels compute, in plain numpy: a kernel is correct iff it equals its function here. Only tests import these."""
