"""What Triton asks of a compiler, of which the interpreter uses nothing."""

from typing import Any

from triton.backends.compiler import BaseBackend


class HostBackend(BaseBackend):
    binary_ext = "none"

    @staticmethod
    def supports_target(target: Any) -> bool:
        return bool(target.backend == "cpu")

    def hash(self) -> str:
        return "host"

    def parse_options(self, options: Any) -> Any:
        raise NotImplementedError("interpreter only")

    def add_stages(self, stages: Any, options: Any, language: Any = None) -> None:
        raise NotImplementedError("interpreter only")

    def load_dialects(self, ctx: Any) -> None:
        pass

    def get_module_map(self) -> dict[str, Any]:
        return {}
