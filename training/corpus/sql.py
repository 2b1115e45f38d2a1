"""Questions about a table that is shown, and the SQL that answers them.

people(name, age, city)
Ada Turing|36|London
The name of all people with age over 30, by city.
SELECT name FROM people WHERE age > 30 ORDER BY city;
"""

from training.corpus import words
from training.corpus.draw import Draw, as_sentence

TABLES = {
    "people": ("name", "age", "city", "job", "height"),
    "orders": ("customer", "item", "quantity", "price", "date"),
    "events": ("title", "date", "place", "guests", "price"),
    "shops": ("name", "street", "city", "size", "rent"),
    "animals": ("name", "kind", "age", "weight", "colour"),
    "books": ("title", "writer", "year", "pages", "price"),
}
NUMBERS = ("age", "height", "quantity", "price", "guests", "size", "rent", "weight", "year", "pages")

SELECTIONS = {
    "{column}": ("the {column} of all {table}", "show the {column} of {table}", "list {column} from {table}"),
    "*": ("all of {table}", "everything about {table}", "show all {table}"),
    "COUNT(*)": ("how many {table}", "the number of {table}", "count {table}"),
    "AVG({number})": ("the average {number} of {table}", "mean {number} of {table}"),
    "MAX({number})": ("the highest {number} of {table}", "largest {number} of {table}"),
    "MIN({number})": ("the lowest {number} of {table}", "smallest {number} of {table}"),
    "{column}, {other}": ("{column} and {other} of {table}", "show {column} and {other} of {table}"),
}
UNSEEN_SELECTIONS = {
    "{column}": ("I want to see every {column} among {table}",),
    "*": ("print whole rows of {table}",),
    "COUNT(*)": ("what is the count of {table}",),
    "AVG({number})": ("among {table}, the average {number}",),
    "MAX({number})": ("among {table}, the highest {number}",),
    "MIN({number})": ("among {table}, the lowest {number}",),
    "{column}, {other}": ("both {column} and {other} of the {table}",),
}
COMPARISONS = {
    ">": ("with {number} over {value}", "with {number} above {value}"),
    "<": ("with {number} under {value}", "with {number} below {value}"),
    "=": ("with {number} {value}", "whose {number} is {value}"),
}
UNSEEN_COMPARISONS = {
    ">": ("where {number} is over {value}",),
    "<": ("where {number} is under {value}",),
    "=": ("where {number} is {value}",),
}


def cell(draw: Draw, column: str) -> str:
    if column in NUMBERS:
        return str(draw.rng.randint(1, 400))
    if column in ("item", "kind", "colour"):
        return draw.one({"item": words.THINGS, "kind": words.ANIMALS, "colour": words.COLOURS}[column])
    if column == "date":
        return draw.date()[0]
    return draw.city() if column == "city" else draw.coined()


def condition(draw: Draw, column: str) -> tuple[str, str]:
    """A condition on a column, in words and in SQL."""
    value = cell(draw, column)
    comparison = draw.one(list(COMPARISONS)) if column in NUMBERS else "="
    said = draw.wording(COMPARISONS[comparison], UNSEEN_COMPARISONS[comparison]).format(number=column, value=value)
    return said, f"{column} {comparison} {value if column in NUMBERS else repr(value)}"


def sql(draw: Draw) -> tuple[str, str]:
    table = draw.one(list(TABLES))
    columns = draw.some(TABLES[table], draw.rng.randint(3, 4))
    numbers = [column for column in columns if column in NUMBERS]
    selection = draw.one([each for each in SELECTIONS if numbers or "{number}" not in each])
    column, other = draw.some(columns, 2)
    names = {"column": column, "other": other, "number": draw.one(numbers or [""]), "table": table}
    said = draw.wording(SELECTIONS[selection], UNSEEN_SELECTIONS[selection]).format(**names)
    query = f"SELECT {selection.format(**names)} FROM {table}"
    conditions = [condition(draw, each) for each in draw.some(columns, draw.number(0, 2, larger=1))]
    if conditions:
        said += " " + " and ".join(words_of for words_of, _ in conditions)
        query += " WHERE " + " AND ".join(written for _, written in conditions)
    if "(" not in selection and draw.maybe(0.4):
        key, falls = draw.one(columns), draw.maybe(0.5)
        said += f", by {key}" + (", falling" if falls else "")
        query += f" ORDER BY {key}" + (" DESC" if falls else "")
    if "(" not in selection and draw.maybe(0.2):
        most = draw.rng.randint(2, 20)
        said += f", at most {most}"
        query += f" LIMIT {most}"
    rows = ["|".join(cell(draw, each) for each in columns) for _ in range(draw.rng.randint(0, 2))]
    return "\n".join([f"{table}({', '.join(columns)})", *rows, as_sentence(said) + "."]), query + ";"
