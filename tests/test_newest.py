"""What `make newest` says of the versions that it ran with."""

from tests.newest import differing, pinned

CONSTRAINTS = """# a comment: c==3
torch==2.13.0
numpy==2.4.6; python_version >= "3.11"
import-linter==2.16
d>=1
"""


def test_versions_that_differ_are_named():
    pins = pinned(CONSTRAINTS)
    assert pins == {"torch": "2.13.0", "numpy": "2.4.6", "import-linter": "2.16"}
    said = differing(pins, {"torch": "2.13.0+cpu", "numpy": "2.5.0", "import-linter": "2.17", "other": "1"})
    assert said.splitlines()[1:] == [
        "    numpy 2.5.0, constraints.txt has 2.4.6",
        "    import-linter 2.17, constraints.txt has 2.16",
    ]
    assert differing(pins, {"torch": "2.13.0"}) == "No version is another than in constraints.txt."
