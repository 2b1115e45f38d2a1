"""Grammars that come with the package, in Lark's notation; each file's first lines say which subset of its language it covers.

    import grammarlm as gl
    from grammarlm.grammars import library

    gl.compile(gl.Lark(library.text("sqlite")), vocab)

`names()` lists them. Python is not among them: lark ships that grammar (`lark/grammars/python.lark`).

All of them are LALR(1) without a conflict, start at `start`, and are subsets: what a grammar accepts, the language's own parser
accepts. Where a language forbids a keyword as a name, or a keyword directly followed by a word, the grammar says so with a
look-ahead of one terminal; they use no other look-around.
"""

from importlib import resources

SUFFIX = ".lark"


def names() -> list[str]:
    """The names of the grammars, sorted."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(SUFFIX) for file in files if file.name.endswith(SUFFIX))


def text(name: str) -> str:
    """The text of a grammar; ValueError for a name that is not in `names()`."""
    if name not in names():
        raise ValueError(f"no grammar is called {name!r}; there are {', '.join(names())}")
    return (resources.files(__name__) / (name + SUFFIX)).read_text("utf-8")
