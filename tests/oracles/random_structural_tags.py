"""Random structural tags, texts of them, and texts that are near those.

    tags = RandomTags(random.Random(0))
    tag = tags.tag()
    texts = tags.texts(tag, 20)

The strings are few and short, with beginnings and ends in common, so that triggers, ends and excluded strings meet.
"""

import json
import random
from typing import Any

LONGEST = 120  # characters of a text
OPEN, CLOSE = ("<a>", "<b>", "<ab", "[", "<"), ("</a>", "</b>", ">", "]", "</")
WORDS = ("a", "b", "ab", "x", "<", "-", "é", "/", "a>")
TRIGGERS = ("<", "<a", "<ab", "[", "ab", "<<", "aa")
PATTERNS = {"[ab]{1,3}": ("a", "ba", "aba"), "x*": ("", "xx"), "a|bb": ("a", "bb"), "[^<]": ("é", "]", "a")}
GRAMMARS = {  # with what `re` has for them, and texts of them
    'root ::= "(" root ")" | "x"': (r"x|\(x\)|\(\(x\)\)|\(\(\(x\)\)\)", ("x", "(x)", "((x))")),
    'root ::= "a" [0-9]+': (r"a[0-9]+", ("a1", "a20")),
    'root ::= TagDispatch(("<", x), loop_after_dispatch=false)\nx ::= "a"': (r"[^<]*(<a)?", ("", "x", "x<a")),
}
SCHEMAS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    ({"type": "integer"}, (3, -20)),
    ({"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, ([], [True], [True, False])),
    ({"enum": ["a", "<a>", 1]}, ("a", "<a>", 1)),
    ({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
     ({"a": "x"}, {"a": "</a>", "b": 1}, {"a": ""})),
    ({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "integer"}},
     ({}, {"a": None}, {"z": 3}, {"a": None, "ab": 1})),
)  # fmt: skip

WRITTEN = {  # an entry of each style: of a string, and of another value of a type
    "qwen_xml": ("<parameter={k}>\n{v}\n</parameter>", "<parameter={k}>{v}</parameter>"),
    "minimax_xml": ('<parameter name="{k}">{v}</parameter>',) * 2,
    "deepseek_xml": tuple(
        f'<｜DSML｜parameter name="{{k}}" string="{s}">{{v}}</｜DSML｜parameter>' for s in ("true", "false")
    ),
    "glm_xml": (
        "<arg_key>{k}</arg_key><arg_value>{v}</arg_value>",
        "<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>",
    ),
    "kimi_k3_xml": ('<|open|>argument key="{k}" type="{t}"<|sep|>{v}<|close|>argument<|sep|>',) * 2,
}
NAMES = {str: "string", int: "number", type(None): "null"}


class RandomTags:
    """`has_json`: are there schemas, too?"""

    def __init__(self, rng: random.Random, has_json: bool = True):
        self.rng, self.has_json = rng, has_json

    def tag(self) -> dict[str, Any]:
        """A structural tag, now and then in the older form."""
        if self.has_json and self.rng.random() < 0.05:
            triggers, tags = self._triggered(0)
            structures = [
                {"begin": tag["begin"], "schema": self._schema(), "end": self.rng.choice(CLOSE)} for tag in tags
            ]
            return {"structures": structures, "triggers": triggers}
        return {"type": "structural_tag", "format": self.format(self.rng.randint(1, 3))}

    def format(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        leaves = ["const_string", "any_text", "regex", "grammar"] + ["json_schema"] * 2 * self.has_json
        inner = ["sequence", "or", "optional", "star", "plus", "repeat", "tag", "tag", "triggered_tags", "triggered_tags",
                 "tags_with_separator", "dispatch"]  # fmt: skip
        kind = rng.choice(inner if depth else leaves)
        return {"type": kind, **getattr(self, f"_{kind}")(depth - 1)}

    def _some(self, strings: tuple[str, ...], least: int, most: int) -> list[str]:
        return self.rng.sample(strings, self.rng.randint(least, most))

    def _excludes(self) -> dict[str, Any]:
        return {"excludes": self._some((*TRIGGERS, *CLOSE, *WORDS), 1, 2)} if self.rng.random() < 0.3 else {}

    def _schema(self) -> Any:
        return self.rng.choice(SCHEMAS)[0]

    def _const_string(self, depth: int) -> dict[str, Any]:
        return {"value": "".join(self._some(WORDS, 0, 2))}

    def _any_text(self, depth: int) -> dict[str, Any]:
        return {**self._excludes(), **({"max_chars": self.rng.randint(0, 4)} if self.rng.random() < 0.3 else {})}

    def _regex(self, depth: int) -> dict[str, Any]:
        return {"pattern": self.rng.choice(list(PATTERNS))}

    def _grammar(self, depth: int) -> dict[str, Any]:
        return {"grammar": self.rng.choice(list(GRAMMARS))}

    def _json_schema(self, depth: int) -> dict[str, Any]:
        schema = self._schema()
        style = {"style": self.rng.choice(list(WRITTEN))} if "properties" in schema and self.rng.random() < 0.5 else {}
        return {"json_schema": schema, **style}

    def _sequence(self, depth: int) -> dict[str, Any]:
        return {"elements": [self.format(self.rng.randint(0, depth)) for _ in range(self.rng.randint(1, 3))]}

    _or = _sequence

    def _optional(self, depth: int) -> dict[str, Any]:
        return {"content": self.format(self.rng.randint(0, depth))}

    _star = _plus = _optional

    def _repeat(self, depth: int) -> dict[str, Any]:
        least = self.rng.randint(0, 2)
        return {"min": least, "max": self.rng.choice([-1, least, least + 2]), **self._optional(depth)}

    def _tag(self, depth: int, begin: str | None = None) -> dict[str, Any]:
        ends = self._some(CLOSE, 1, 2)
        begin = self.rng.choice(("", *OPEN)) if begin is None else begin
        content = self.format(self.rng.randint(0, max(depth, 0)))
        return {"begin": begin, "content": content, "end": ends[0] if len(ends) == 1 else ends}

    def _triggered(self, depth: int) -> tuple[list[str], list[dict[str, Any]]]:
        triggers: list[str] = []
        for trigger in self._some(TRIGGERS, 1, 3):
            if not any(trigger.startswith(other) or other.startswith(trigger) for other in triggers):
                triggers.append(trigger)
        begins = [
            trigger + "".join(self._some(WORDS, 0, 1)) for trigger in triggers for _ in range(self.rng.randint(1, 2))
        ]
        return triggers, [{"type": "tag", **self._tag(depth, begin)} for begin in begins]

    def _flags(self, *names: str) -> dict[str, bool]:
        return {name: self.rng.random() < 0.5 for name in names if self.rng.random() < 0.6}

    def _triggered_tags(self, depth: int) -> dict[str, Any]:
        triggers, tags = self._triggered(depth)
        flags = self._flags("at_least_one", "stop_after_first")
        return {"triggers": triggers, "tags": tags, **flags, **self._excludes()}

    def _tags_with_separator(self, depth: int) -> dict[str, Any]:
        tags = [{"type": "tag", **self._tag(depth)} for _ in range(self.rng.randint(1, 2))]
        flags = self._flags("at_least_one", "stop_after_first")
        return {"tags": tags, "separator": self.rng.choice(("", ",", "a")), **flags}

    def _dispatch(self, depth: int) -> dict[str, Any]:
        triggers, _ = self._triggered(0)
        rules = [[trigger, self.format(self.rng.randint(0, depth))] for trigger in triggers]
        return {"rules": rules, **self._flags("loop"), **self._excludes()}

    # ------------------------------------------------------------------ texts

    def texts(self, tag: dict[str, Any], count: int) -> list[str]:
        """About half of them texts of the tag as far as chance has it, the others changed in a place or two."""
        found = dict[str, None]()
        for turn in range(3 * count):
            text = self._older(tag) if "structures" in tag else self.sample(tag["format"])
            for _ in range(turn % 3):
                text = self._changed(text)
            if len(text) <= LONGEST:
                found[text] = None
            if len(found) == count:
                break
        return list(found)

    def _changed(self, text: str) -> str:
        at = self.rng.randint(0, len(text))
        cut = at + self.rng.randint(0, 2)
        return text[:at] + self.rng.choice(("", "", *WORDS, *TRIGGERS, *CLOSE, *OPEN)) + text[cut:]

    def _older(self, tag: dict[str, Any]) -> str:
        each = self.rng.choice(tag["structures"])
        return self._free() + each["begin"] + self._json(each["schema"]) + each["end"] + self._free()

    def _free(self) -> str:
        return "".join(self._some(WORDS, 0, 2))

    def _json(self, schema: Any, style: str = "json") -> str:
        value = self.rng.choice(next(values for known, values in SCHEMAS if known == schema))
        if style == "json":
            return json.dumps(value, ensure_ascii=False)
        written = [(key, each, each if isinstance(each, str) else json.dumps(each)) for key, each in value.items()]
        return self.rng.choice(("", "\n")).join(
            WRITTEN[style][not isinstance(each, str)].format(k=key, v=text, t=NAMES[type(each)])
            for key, each, text in written
        )

    def sample(self, given: dict[str, Any]) -> str:
        """A text of the format, unless free text meets a trigger or an end."""
        rng, kind = self.rng, given.get("type", "tag")
        if kind == "const_string":
            return str(given["value"])
        if kind == "any_text":
            return self._free()[: given.get("max_chars", 9)]
        if kind == "regex":
            return rng.choice(PATTERNS[given["pattern"]])
        if kind == "grammar":
            return rng.choice(GRAMMARS[given["grammar"]][1])
        if kind == "json_schema":
            return self._json(given["json_schema"], given.get("style", "json"))
        if kind == "sequence":
            return "".join(map(self.sample, given["elements"]))
        if kind == "or":
            return self.sample(rng.choice(given["elements"]))
        if kind == "tag":
            end = given["end"]
            return (
                str(given["begin"]) + self.sample(given["content"]) + (end if isinstance(end, str) else rng.choice(end))
            )
        if kind == "tags_with_separator":
            return str(given["separator"]).join(
                self.sample(rng.choice(given["tags"])) for _ in range(rng.randint(0, 3))
            )
        if kind in ("triggered_tags", "dispatch"):
            return self._turns(given, kind)
        least, most = {"optional": (0, 1), "star": (0, 3), "plus": (1, 3)}.get(kind) or (given["min"], given["max"])
        times = rng.randint(least, least + 2 if most == -1 else most)
        return "".join(self.sample(given["content"]) for _ in range(times))

    def _turns(self, given: dict[str, Any], kind: str) -> str:
        text = "" if given.get("at_least_one") else self._free()
        for _ in range(self.rng.randint(0, 2)):
            if kind == "dispatch":
                trigger, body = self.rng.choice(given["rules"])
                text += trigger + self.sample(body)
            else:
                text += self.sample(self.rng.choice(given["tags"]))
            text += self._free() if given.get("loop", not given.get("stop_after_first")) else ""
        return text
