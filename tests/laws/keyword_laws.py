"""Every way of reading a schema says of every small instance what the oracle says, and its report says what was read.

A reader that drops a keyword is found by the pairs; what the report calls enforced is all that the oracle needs for its verdicts.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import grammarlm as gl
from tests.laws.json_laws import accepts, said
from tests.oracles.json_schema_oracle import Judge, NoVerdict
from tests.texts import BYTES

# The ways to read a schema: with the keywords of all drafts, or of the declared one; in plain spelling; and so on.
READERS: dict[str, dict[str, Any]] = {
    "auto": {},
    "declared": {"draft": "declared"},
    "plain": {"spelling": "plain", "integers": "plain"},
    "relaxed": {"strict": False},
    "closed": {"extra": "forbid"},  # which accepts less
}
# What is not compared, and why: where the readings are known to differ.
EXCLUDED = {
    "a list of items next to prefixItems": "no draft has both; read are prefixItems alone, and the report says so",
}


def check_readers(schema: Any, texts: Iterable[str], readers: Iterable[str] = tuple(READERS)) -> Counter[str]:
    if _has_both_items(schema):
        return Counter(excluded=1)
    outcomes: Counter[str] = Counter(schemas=1)
    verdicts: dict[str, dict[str, bool]] = {}

    def judged(draft: str) -> dict[str, bool]:
        if draft not in verdicts:
            verdicts[draft] = _verdicts(schema, texts, draft)
        return verdicts[draft]

    for reader in readers:
        outcomes += _check_reader(schema, judged, reader, READERS[reader])
    return outcomes


def _has_both_items(schema: Any) -> bool:
    if isinstance(schema, dict):
        both = isinstance(schema.get("items"), list) and "prefixItems" in schema
        return both or any(map(_has_both_items, schema.values()))
    return isinstance(schema, list) and any(map(_has_both_items, schema))


def _verdicts(schema: Any, texts: Iterable[str], draft: str) -> dict[str, bool]:
    judge = Judge(schema, draft)
    try:
        return {text: judge.valid(text) for text in texts}
    except NoVerdict:
        return {}


def _check_reader(
    schema: Any, judged: Callable[[str], dict[str, bool]], reader: str, options: dict[str, Any]
) -> Counter[str]:
    draft, unsatisfiable = options.get("draft", "auto"), ""
    try:
        constraint = gl.compile(gl.JsonSchema(schema, property_order="any", **options), BYTES)
    except gl.UnsatisfiableGrammar as error:
        unsatisfiable = f"({reader}) unsatisfiable: {error}"
    except (gl.UnsupportedFeature, gl.LimitExceeded):
        return Counter(refused=1)
    except gl.GrammarError as error:
        wrong = f"({reader}) broken: {error}"
        if "refers to itself" not in wrong and judged(draft):
            raise AssertionError(said(schema, "", "something", wrong)) from error
        return Counter(broken=1)
    verdicts = judged(draft)
    if unsatisfiable:
        for text, expected in verdicts.items():
            assert not expected or reader == "closed", said(schema, text, True, unsatisfiable)
        return Counter(unsatisfiable=1)
    matcher, found = constraint.matcher(), {}
    for text, expected in verdicts.items():
        if reader == "plain" and "1.0" in text:
            continue  # not how an integer is written
        found[text] = accepts(matcher, text.encode())
        may_differ = expected if reader == "closed" else constraint.report.relaxed and not expected
        assert found[text] is expected or may_differ, said(schema, text, expected, f"({reader}) {found[text]}")
    if reader != "closed":
        _check_report(schema, constraint.report, found, draft)
    return Counter(compiled=1, verdicts=len(found))


def _check_report(schema: Any, report: Any, found: dict[str, bool], draft: str) -> None:
    """Without what the report says is not read, or relaxed, the schema means the same, or no more than was accepted."""
    left_out = [line for line in report.keywords() if line.is_warning or line.status == "relaxed"]
    if not left_out:
        return
    rest = json.loads(json.dumps(schema))
    for line in left_out:
        *path, keyword = [part.replace("~1", "/").replace("~0", "~") for part in line.pointer.split("/")[1:]]
        here = rest
        for part in path:
            here = here[int(part)] if isinstance(here, list) else here.get(part, {})
        here.pop(keyword, None)  # it may stand inside of another one
    judge = Judge(rest, draft)
    for text, accepted in found.items():
        expected = judge.valid(text)
        assert not accepted or expected, said(schema, text, expected, f"{accepted}, though only {rest} is enforced")
        assert accepted or report.relaxed or not expected, said(
            schema, text, expected, f"{accepted}, without {left_out}"
        )
