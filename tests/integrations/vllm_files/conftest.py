"""These tests run where GRAMMARLM_VLLM_FILES names a folder with vLLM's wheel (`make test-vllm-files`)."""

import os

collect_ignore_glob = [] if os.environ.get("GRAMMARLM_VLLM_FILES") else ["test_*.py"]
