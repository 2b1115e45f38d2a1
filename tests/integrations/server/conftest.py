"""The embedded model behind a real server, on a port that is free."""

import threading
import time

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette", reason="the server needs starlette: pip install 'grammarlm[serve]'")
pytest.importorskip("uvicorn", reason="the server needs uvicorn: pip install 'grammarlm[serve]'")

KEY = "of this test"


def settled(forwards):
    """Until no forward has been made for a while."""
    end = time.monotonic() + 60
    while True:
        before = len(forwards)
        time.sleep(1.0)
        if len(forwards) == before:
            return
        assert time.monotonic() < end, "answers that nobody waits for are still being made"


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Models this small only wait for each other on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny():
    """In float64: a batch adds in another order than an answer alone."""
    from tests.rounding import embedded_model

    return embedded_model()


@pytest.fixture(scope="session")
def served(tiny):
    """The address of a server that asks for a key."""
    import uvicorn

    from grammarlm.integrations.server.app import application
    from grammarlm.integrations.server.asked import Bounds

    app = application(*tiny, name="tiny", api_key=KEY, bounds=Bounds(max_tokens=400))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < end
        time.sleep(0.01)
    [socket] = server.servers[0].sockets
    yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    server.should_exit = True
    thread.join(30)
