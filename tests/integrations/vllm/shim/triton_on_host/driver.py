"""What Triton and vLLM ask of a driver."""

from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase


class HostDriver(DriverBase):
    """The host as a device of one stream."""

    def __init__(self) -> None:
        self.get_current_device = lambda: 0
        self.get_current_stream = lambda *_: 0
        self.set_current_device = lambda *_: None

    @staticmethod
    def is_active() -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cpu", "generic", 1)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        import torch

        return torch.cpu

    def get_benchmarker(self) -> Any:
        raise NotImplementedError("nothing is measured in the interpreter")
