"""A settings language of 300 rules, as a vendor of network devices would publish it: sections, options, typed values, conditions.

The rules are made by seeded code as data; the same data is written as EBNF (a scannerless grammar, start rule `root`), as Lark
text (the value types that are single lexemes become terminals), and read to derive random texts. So a text is valid by its
derivation, and stock lark, which reads the Lark text, is the independent judge.

A rule's body is a list of alternatives; an alternative is a list of parts: ("text", string), ("rule", name), ("many", name),
("maybe", name) or ("pattern", regular expression, which EBNF and Lark spell alike).
"""

import random
import re
from dataclasses import dataclass, field, replace

NOUNS = [
    "interface", "vlan", "bridge", "tunnel", "route", "neighbor", "peer", "policy", "filter", "queue",
    "meter", "sensor", "camera", "printer", "account", "session", "storage", "volume", "backup", "mirror",
    "cluster", "node", "service", "probe", "alarm", "mail", "proxy", "cache", "certificate", "key", "radio",
    "channel", "antenna", "power", "fan", "clock", "log", "trace", "firmware", "license",
]  # fmt: skip
QUALITIES = [
    "max", "min", "default", "primary", "secondary", "idle", "retry", "hold", "soft", "hard", "burst",
    "initial", "local", "remote", "inner", "outer", "fast", "slow", "preferred", "trusted", "shared",
    "static",
]  # fmt: skip
ASPECTS = {
    "timeout": "duration", "interval": "duration", "delay": "duration", "lifetime": "duration",
    "size": "size", "limit": "size", "quota": "size", "window": "size",
    "count": "integer", "priority": "integer", "weight": "percent", "threshold": "percent", "share": "percent",
    "address": "address", "gateway": "address", "network": "network", "port": "port", "ports": "port_list",
    "path": "path", "directory": "path", "url": "url", "contact": "email",
    "name": "identifier", "group": "identifier", "members": "name_list", "description": "string", "banner": "string",
    "secret": "hex_key", "fingerprint": "hex_key", "schedule": "schedule", "color": "color", "level": "level",
    "mode": "switch", "check": "condition", "trigger": "condition", "version": "version", "hardware-address": "mac",
}  # fmt: skip
LEXEMES = {
    "integer": "[0-9]+",
    "duration": "[0-9]+(ms|s|min|h|d)",
    "size": "[0-9]+(\\.[0-9]+)?[KMG]?B",
    "percent": "[0-9]+(\\.[0-9]+)?%",
    "address": "[0-9]+\\.[0-9]+\\.[0-9]+\\.[0-9]+",
    "network": "[0-9]+\\.[0-9]+\\.[0-9]+\\.[0-9]+/[0-9]+",
    "path": "(/[A-Za-z0-9_.-]+)+",
    "url": "https?://[a-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9_.-]*)*",
    "email": "[a-z0-9._-]+@[a-z0-9-]+(\\.[a-z0-9-]+)+",
    "identifier": "[a-z_][a-z0-9_]*",
    "string": '"([^"\\\\\\n]|\\\\["\\\\n])*"',
    "hex_key": "0x([0-9a-f][0-9a-f])+",
    "color": "#[0-9a-f]{6}",
    "version": "v[0-9]+\\.[0-9]+\\.[0-9]+",
    "mac": "[0-9a-f]{2}(:[0-9a-f]{2}){5}",
    "time": "[0-2][0-9]:[0-5][0-9]",
}
RULES = 300


@dataclass
class Language:
    size: int  # how many rules it is to have
    rules: dict[str, list[list[tuple]]] = field(default_factory=dict)
    sections: list[str] = field(default_factory=list)


def language(seed: int = 3, size: int = RULES) -> Language:
    """The rules (`size` of them, or one or two less): values, then sections of options, some of them nested."""
    rng, made = random.Random(seed), Language(size)
    made.rules["root"] = [[("many", "section")]]
    made.rules["section"] = []
    values(made)
    names = [(noun, list(ASPECTS)) for noun in NOUNS]
    rng.shuffle(names)
    while len(made.rules) < size - 2:
        noun, aspects = names[len(made.sections) % len(names)]
        add_section(made, rng, noun, aspects)
    return made


def values(made: Language) -> None:
    rules = made.rules
    for name, pattern in LEXEMES.items():
        rules[name] = [[("pattern", pattern)]]
    rules["gap"] = [[("pattern", "[ \\n]+")]]
    rules["port"] = [[("rule", "integer")], [("text", "any")]]
    rules["port_list"] = [[("text", "{"), ("rule", "integer"), ("many", "more_ports"), ("text", "}")]]
    rules["more_ports"] = [[("text", ", "), ("rule", "integer")]]
    rules["name_list"] = [[("text", "["), ("rule", "identifier"), ("many", "more_names"), ("text", "]")]]
    rules["more_names"] = [[("text", ", "), ("rule", "identifier")]]
    rules["switch"] = [[("text", word)] for word in ("on", "off", "auto")]
    rules["level"] = [[("text", word)] for word in ("debug", "info", "warning", "error", "critical")]
    rules["weekday"] = [[("text", word)] for word in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")]
    rules["schedule"] = [
        [("text", "daily at "), ("rule", "time")],
        [("text", "every "), ("rule", "weekday"), ("text", " at "), ("rule", "time")],
        [("text", "never")],
    ]
    rules["condition"] = [[("rule", "conjunction"), ("many", "or_conjunction")]]
    rules["or_conjunction"] = [[("text", " or "), ("rule", "conjunction")]]
    rules["conjunction"] = [[("rule", "test"), ("many", "and_test")]]
    rules["and_test"] = [[("text", " and "), ("rule", "test")]]
    rules["test"] = [
        [("text", "("), ("rule", "condition"), ("text", ")")],
        [("text", "!"), ("rule", "test")],
        [("text", "$"), ("rule", "identifier"), ("rule", "relation"), ("rule", "operand")],
    ]
    rules["relation"] = [[("text", word)] for word in (" == ", " != ", " < ", " > ")]
    rules["operand"] = [[("rule", kind)] for kind in ("integer", "string", "percent", "duration")]


def add_section(made: Language, rng: random.Random, noun: str, aspects: list[str]) -> None:
    """One section: `noun NAME { options }`, its group of options and a rule for each option; one option in six is a block."""
    at = len(made.sections)
    made.sections.append(f"{noun}_section")
    made.rules["section"].append([("rule", f"{noun}_section")])
    head = [("text", f"{noun} "), ("rule", "string"), ("text", " {"), ("rule", "gap")]
    made.rules[f"{noun}_section"] = [[*head, ("many", f"{noun}_option"), ("text", "}"), ("rule", "gap")]]
    group: list[list[tuple]] = []
    made.rules[f"{noun}_option"] = group
    spelled = set()
    for _ in range(rng.randint(4, 7)):
        if len(made.rules) == made.size:
            break
        aspect = rng.choice(aspects)
        keyword = f"{rng.choice(QUALITIES)}-{aspect}" if rng.random() < 0.6 else aspect
        name = f"{noun}_{keyword.replace('-', '_')}"
        if keyword in spelled:
            continue
        spelled.add(keyword)
        group.append([("rule", name)])
        if rng.random() < 1 / 6 and at:
            inside = f"{rng.choice(made.sections[:at]).removesuffix('_section')}_option"
            made.rules[name] = [
                [("text", f"{keyword}-rules {{"), ("rule", "gap"), ("many", inside), ("text", "}"), ("rule", "gap")]
            ]
        else:
            made.rules[name] = [[("text", f"{keyword} "), ("rule", ASPECTS[aspect]), ("text", ";"), ("rule", "gap")]]
    if not group:
        group.append([("text", "none;"), ("rule", "gap")])


def ebnf(made: Language) -> str:
    """The rules in the EBNF that xgrammar reads; patterns are written out in its character classes, groups and repeats."""
    lines = [f"{name} ::= {' | '.join(_alternative(a, _ebnf_part) for a in body)}" for name, body in made.rules.items()]
    return "\n".join(lines) + "\n"


def gbnf(made: Language) -> str:
    """The same for llama.cpp, whose names of rules have no underscore."""
    renamed = {
        name.replace("_", "-"): [
            [(kind, value if kind in ("text", "pattern") else value.replace("_", "-")) for kind, value in part]
            for part in body
        ]
        for name, body in made.rules.items()
    }
    return ebnf(replace(made, rules=renamed))


def _alternative(parts, spell) -> str:
    return " ".join(spell(part) for part in parts)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _ebnf_part(part: tuple) -> str:
    kind, value = part
    if kind == "text":
        return _quoted(value)
    if kind == "pattern":
        return _pattern_as_ebnf(value)
    return value + {"rule": "", "many": "*", "maybe": "?"}[kind]


PIECE = re.compile(r"(?P<same>\[(?:\\.|[^\]])*\]|[()|])|(?P<times>[*+?]|\{\d+\})|\\?(?P<char>.)")


def _pattern_as_ebnf(pattern: str) -> str:
    """Runs of literal characters get quotes (a repeated one its own); classes, brackets, bars and repeats stay."""
    out: list[str] = []
    run: list[str] = []
    for piece in PIECE.finditer(pattern):
        if piece["char"]:
            run.append(piece["char"])
            continue
        last = run.pop() if piece["times"] and run else ""
        out += [_quoted("".join(chars)) for chars in (run, last) if chars]
        run = []
        if piece["times"]:
            out[-1] += piece["times"]
        else:
            out.append(piece["same"])
    return " ".join([*out, *([_quoted("".join(run))] if run else [])])


def lark(made: Language) -> str:
    """The same rules for Lark: lexemes become terminals (upper case), the rest stays."""
    lexemes = {*LEXEMES, "gap"}

    def spell(part: tuple) -> str:
        kind, value = part
        if kind == "text":
            return _quoted(value)
        if kind == "pattern":
            return "/" + value.replace("/", "\\/") + "/"
        name = value.upper() if value in lexemes else value
        return name + {"rule": "", "many": "*", "maybe": "?"}[kind]

    lines = []
    for name, body in made.rules.items():
        shown = {"root": "start"}.get(name, name.upper() if name in lexemes else name)
        lines.append(f"{shown}: {' | '.join(_alternative(a, spell) for a in body)}")
    return "\n".join(lines) + "\n"


PIECES = {
    "integer": lambda r: str(r.randint(0, 65535)),
    "duration": lambda r: f"{r.randint(1, 600)}{r.choice(('ms', 's', 'min', 'h', 'd'))}",
    "size": lambda r: r.choice((f"{r.randint(1, 999)}{r.choice('KMG')}B", f"{r.uniform(0, 9):.1f}MB")),
    "percent": lambda r: r.choice((f"{r.randint(0, 100)}%", f"{r.uniform(0, 100):.1f}%")),
    "address": lambda r: ".".join(str(r.randint(0, 255)) for _ in range(4)),
    "network": lambda r: f"10.{r.randint(0, 255)}.{r.randint(0, 255)}.0/{r.choice((8, 16, 24))}",
    "path": lambda r: "".join(
        "/" + r.choice(("var", "srv", "log.d", "backup-1", "data", "keys")) for _ in range(r.randint(1, 4))
    ),
    "url": lambda r: (
        f"http{'s' * r.randint(0, 1)}://{r.choice(NOUNS)}.example.org{r.choice(('', ':8443', '/api/v2', '/status'))}"
    ),
    "email": lambda r: f"{r.choice(NOUNS)}@{r.choice(('ops', 'noc'))}.example.org",
    "identifier": lambda r: r.choice(
        (r.choice(NOUNS), f"{r.choice(QUALITIES)}_{r.choice(NOUNS)}", f"eth{r.randint(0, 7)}")
    ),
    "string": lambda r: (
        '"' + r.choice(("uplink to core", "rack 12", 'the \\"old\\" one', "Zürich, 2nd floor", "", "lab")) + '"'
    ),
    "hex_key": lambda r: f"0x{r.getrandbits(64):016x}",
    "color": lambda r: f"#{r.getrandbits(24):06x}",
    "version": lambda r: f"v{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}",
    "mac": lambda r: ":".join(f"{r.randint(0, 255):02x}" for _ in range(6)),
    "time": lambda r: f"{r.randint(10, 23)}:{r.randint(10, 59)}",
}
NESTING = 3


def derive(made: Language, rng: random.Random, name: str, indent: int = 0, depth: int = 0) -> str:
    """A random text of a rule; `gap` after a brace or a semicolon becomes a new line."""
    if name in PIECES:
        return PIECES[name](rng)
    bodies = made.rules[name]
    body = rng.choice(bodies)
    if depth > NESTING and name == "test":
        body = bodies[-1]
    out = ""
    for kind, value in body:
        if kind == "text":
            out = out.rstrip(" ") if value == "}" and out.endswith(" ") else out
            out += " " * 4 * indent + value if value == "}" and out.endswith("\n") else value
        elif value == "gap":
            out += "\n"
        elif kind == "rule":
            out += derive(made, rng, value, indent, depth + 1)
        else:
            listed = value.endswith("_option")
            times = rng.randint(1, 5) if listed and indent < NESTING else int(not listed and rng.random() < 0.4)
            for _ in range(times):
                out += " " * 4 * (indent + 1) * listed + derive(made, rng, value, indent + listed, depth + 1)
    return out


def text(rng: random.Random, size: int) -> str:
    """A settings file of about `size` characters."""
    return text_of(language(), rng, size)


def text_of(made: Language, rng: random.Random, size: int) -> str:
    """A text of any of the languages."""
    out = ""
    while len(out) < size:
        out += derive(made, rng, "section")
    return out
