"""These tests run where GRAMMARLM_SGLANG names a folder with SGLang's wheel (`make test-sglang`)."""

import os

collect_ignore_glob = [] if os.environ.get("GRAMMARLM_SGLANG") else ["test_*.py"]
