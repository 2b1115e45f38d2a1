import pytest


@pytest.fixture(autouse=True)
def own_cache_folder(tmp_path_factory, monkeypatch):
    """Tables that these tests keep on disk are not found by the next run, nor by the user."""
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path_factory.getbasetemp() / "grammarlm cache"))
