"""The grammar of each form of answer, as an argument of `generate`."""

from typing import Any

from grammarlm.grammars.lark.grammar import Lark
from training.corpus import words
from training.corpus.calls import WEEKDAYS
from training.corpus.records import PAYMENTS
from training.corpus.sql import NUMBERS, TABLES

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
NUMBER: Schema = {"type": "number", "minimum": 0}
COUNT: Schema = {"type": "integer", "minimum": 1}
DATE: Schema = {"type": "string", "format": "date"}
CLOCK: Schema = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
PAID: Schema = {"type": "boolean", "enum": sorted(PAYMENTS)}


def closed(properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 1}


LINE = closed({"item": TEXT, "quantity": COUNT, "price": NUMBER})
MEASURES = {name: closed({"value": NUMBER, "unit": {"enum": units}}) for name, units in sorted(words.UNITS.items())}
RECORD_SCHEMAS: dict[str, Schema] = {
    "person": closed(
        {
            "name": TEXT,
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "city": TEXT,
            "job": TEXT,
            "email": TEXT,
            "phone": TEXT,
            "languages": array(TEXT),
        },
        ("email", "phone", "languages"),
    ),
    "order": closed({"customer": TEXT, "item": TEXT, "quantity": COUNT, "price": NUMBER, "paid": PAID}),
    "basket": closed({"customer": TEXT, "items": array(LINE), "paid": PAID, "delivery": DATE}, ("delivery",)),
    "event": closed(
        {"title": TEXT, "date": DATE, "time": CLOCK, "place": TEXT, "speakers": array(TEXT)}, ("speakers",)
    ),
    "address": closed({"street": TEXT, "number": COUNT, "postcode": TEXT, "city": TEXT}),
    "product": closed({"name": TEXT, "maker": TEXT, **MEASURES}, tuple(MEASURES)),
}
CURRENCY: Schema = {"enum": words.CURRENCIES}
DAY: Schema = {"enum": list(WEEKDAYS)}
ARGUMENTS: dict[str, Schema] = {
    "send_message": closed({"to": TEXT, "text": TEXT}),
    "set_alarm": closed({"time": CLOCK, "day": DAY}),
    "set_timer": closed({"minutes": COUNT}),
    "convert": closed({"amount": NUMBER, "source": CURRENCY, "target": CURRENCY}),
    "get_weather": closed({"city": TEXT, "day": DAY}),
    "book_table": closed({"place": TEXT, "guests": COUNT, "time": CLOCK}),
    "done": closed({}),
}
CALL: Schema = {
    "anyOf": [closed({"function": {"const": name}, "arguments": given}) for name, given in ARGUMENTS.items()]
}
ANSWER_SCHEMAS = RECORD_SCHEMAS | {
    "call": CALL,
    "calls": array(CALL),
    "list": array({"anyOf": [TEXT, {"type": "integer"}]}),
}
SQL = f"""
start: "SELECT " selection " FROM " table [where] [" ORDER BY " column [" DESC"]] [" LIMIT " /[0-9]+/] ";"
where: " WHERE " condition (" AND " condition)*
selection: "*" | column (", " column)* | "COUNT(*)" | /AVG|MAX|MIN/ "(" number ")"
condition: column " = " (/'[^'\\n]*'/ | /[0-9]+/) | number / [<>] / /[0-9]+/
table: {" | ".join(f'"{name}"' for name in TABLES)}
number: {" | ".join(f'"{name}"' for name in NUMBERS)}
column: {" | ".join(f'"{name}"' for name in sorted({each for columns in TABLES.values() for each in columns}))}
"""


def constraint(form: str) -> dict[str, Any]:
    """The keyword arguments of `generate` or `compile` for an answer of this form; none for a plain text."""
    if form in ANSWER_SCHEMAS:
        return {"schema": ANSWER_SCHEMAS[form]}
    others: dict[str, dict[str, Any]] = {"sql": {"grammar": Lark(SQL)}, "arithmetic": {"regex": "-?[0-9]+"}}
    return others.get(form, {})
