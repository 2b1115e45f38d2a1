"""The first masks of a fresh installation: nothing compiles, numba and torch are not there. Prints the seconds that it took."""

import sys
import time

start = time.perf_counter()
import grammarlm as gl  # noqa: E402

imported = time.perf_counter() - start
VOCAB = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b"true", b'{"', b""], stop_ids=[258])
GRAMMARS = {
    "regex": gl.Regex("[a-z]+@[a-z]+"),
    "JSON schema": gl.JsonSchema({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}),
    "Lark": gl.Lark('start: "a" start "b" | "c"'),
    "items": gl.Tokens([[1, 2], [1, 3]]),
}
TEXTS = {"regex": b"a@b", "JSON schema": b'{"a": true}', "Lark": b"aacbb", "items": bytes([1, 3])}
print(f"    import {imported:.3f} s")
for name, grammar in GRAMMARS.items():
    start = time.perf_counter()
    matcher = gl.compile(grammar, VOCAB).matcher()
    mask = gl.allocate_mask(1, VOCAB.size)
    matcher.fill_mask(mask)
    took = time.perf_counter() - start
    assert all(map(matcher.advance, TEXTS[name])), name
    assert matcher.is_accepting, name
    print(f"    {name} {took:.3f} s")
said = ""
try:
    gl.generate  # noqa: B018
except gl.MissingPackage as error:
    said = str(error)
assert "grammarlm[torch]" in said, said
assert not {"numba", "llvmlite", "torch"} & set(sys.modules)
