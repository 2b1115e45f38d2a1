"""SQL scripts of SELECT, INSERT, UPDATE and DELETE statements, one below another."""

import random

TABLES = {
    "users": ["id", "name", "email", "age", "city", "created_at"],
    "orders": ["id", "user_id", "total", "status", "placed_at", "discount"],
    "products": ["id", "title", "price", "stock", "category", "weight_kg"],
    "payments": ["id", "order_id", "amount", "currency", "paid_at"],
    "shipments": ["id", "order_id", "carrier", "tracking_code", "delivered_at"],
}
STRINGS = (
    "'Berlin'",
    "'paid'",
    "'O''Brien'",
    "'2024-05-01'",
    "'a%'",
    "'São Paulo'",
    "''",
    "'express delivery, no signature'",
)
AGGREGATES = ["COUNT", "SUM", "AVG", "MIN", "MAX"]


class Writer:
    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lower = rng.random() < 0.3  # a script keeps one spelling of its keywords

    def word(self, keyword: str) -> str:
        return keyword.lower() if self.lower else keyword

    def maybe(self, chance: float, make) -> str:
        return make() if self.rng.random() < chance else ""

    def column(self, tables: list[str]) -> str:
        table = self.rng.choice(tables)
        name = self.rng.choice(TABLES[table])
        return f"{table}.{name}" if len(tables) > 1 or self.rng.random() < 0.2 else name

    def literal(self) -> str:
        rng = self.rng
        return rng.choice((str(rng.randint(0, 5000)), f"{rng.uniform(0, 900):.2f}", rng.choice(STRINGS)))

    def value(self, tables: list[str], depth: int = 2) -> str:
        roll = self.rng.random()
        if roll < 0.45 or not depth:
            return self.column(tables)
        if roll < 0.7:
            return self.literal()
        if roll < 0.85:
            return f"{self.value(tables, depth - 1)} {self.rng.choice('+-*/')} {self.value(tables, depth - 1)}"
        if roll < 0.93:
            return f"({self.value(tables, depth - 1)} {self.rng.choice('+-')} {self.rng.randint(1, 30)})"
        return f"coalesce({self.column(tables)}, {self.literal()})"

    def predicate(self, tables: list[str], depth: int) -> str:
        left, rng, w = self.value(tables, 1), self.rng, self.word
        kind = rng.randrange(8)
        if kind == 0:
            return f"{left} {w('LIKE')} {rng.choice(STRINGS)}"
        if kind == 1:
            return f"{left} {w('IS')} {rng.choice(('', w('NOT') + ' '))}{w('NULL')}"
        if kind == 2:
            return f"{left} {w('BETWEEN')} {self.literal()} {w('AND')} {self.literal()}"
        if kind == 3:
            return f"{left} {w('IN')} ({', '.join(self.literal() for _ in range(rng.randint(1, 5)))})"
        if kind == 4 and depth:
            return f"{left} {w('IN')} ({self.select(depth - 1)})"
        return f"{left} {rng.choice(('=', '<', '>', '<=', '>=', '<>'))} {self.value(tables, 1)}"

    def condition(self, tables: list[str], depth: int) -> str:
        text = self.maybe(0.15, lambda: self.word("NOT") + " ") + self.predicate(tables, depth)
        while self.rng.random() < 0.4:
            text += f" {self.word(self.rng.choice(('AND', 'OR')))} {self.predicate(tables, depth)}"
        return text

    def select(self, depth: int = 1) -> str:
        rng, w = self.rng, self.word
        first, *joined = tables = rng.sample(list(TABLES), rng.choice((1, 1, 2, 3)))
        columns = [
            self.value(tables) + self.maybe(0.2, lambda: f" {w('AS')} c{rng.randint(1, 9)}")
            for _ in range(rng.randint(1, 4))
        ]
        grouped = rng.random() < 0.3
        if grouped:
            columns.append(
                f"{rng.choice(AGGREGATES)}({self.maybe(0.3, lambda: w('DISTINCT') + ' ')}{self.column(tables)})"
            )
        distinct = self.maybe(0.1, lambda: w("DISTINCT") + " ")
        listed = ", ".join(columns) if rng.random() < 0.9 else "*"
        text = f"{w('SELECT')} {distinct}{listed} {w('FROM')} {first}"
        for table in joined:
            side = self.maybe(0.6, lambda: w(rng.choice(("INNER", "LEFT"))) + " ")
            text += f" {side}{w('JOIN')} {table} {w('ON')} {first}.id = {table}.{rng.choice(TABLES[table])}"
        text += self.maybe(0.7, lambda: f"\n{w('WHERE')} {self.condition(tables, depth)}")
        if grouped:
            text += f"\n{w('GROUP')} {w('BY')} {self.column(tables)}"
            text += self.maybe(
                0.4, lambda: f" {w('HAVING')} {rng.choice(AGGREGATES)}({self.column(tables)}) > {rng.randint(1, 99)}"
            )
        if depth:
            text += self.maybe(
                0.4, lambda: f"\n{w('ORDER')} {w('BY')} {self.column(tables)} {w(rng.choice(('ASC', 'DESC')))}"
            )
            text += self.maybe(0.4, lambda: f" {w('LIMIT')} {rng.randint(1, 100)}")
        return text

    def insert(self) -> str:
        table = self.rng.choice(list(TABLES))
        columns = TABLES[table][: self.rng.randint(2, 6)]
        rows = ",\n  ".join(f"({', '.join(self.literal() for _ in columns)})" for _ in range(self.rng.randint(1, 5)))
        return (
            f"{self.word('INSERT')} {self.word('INTO')} {table} ({', '.join(columns)}) {self.word('VALUES')}\n  {rows}"
        )

    def update(self) -> str:
        table = self.rng.choice(list(TABLES))
        changes = [f"{name} = {self.value([table])}" for name in self.rng.sample(TABLES[table], self.rng.randint(1, 3))]
        where = self.maybe(0.9, lambda: f" {self.word('WHERE')} {self.condition([table], 1)}")
        return f"{self.word('UPDATE')} {table} {self.word('SET')} {', '.join(changes)}{where}"

    def delete(self) -> str:
        table = self.rng.choice(list(TABLES))
        return f"{self.word('DELETE')} {self.word('FROM')} {table} {self.word('WHERE')} {self.condition([table], 1)}"


def text(rng: random.Random, size: int) -> str:
    """A script of about `size` characters."""
    writer = Writer(rng)
    statements: list[str] = []
    while sum(map(len, statements)) < size:
        statements.append(
            rng.choice((writer.select, writer.select, writer.select, writer.insert, writer.update, writer.delete))()
        )
    return ";\n".join(statements) + ";"
