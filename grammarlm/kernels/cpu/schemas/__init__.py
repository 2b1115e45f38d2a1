"""Plain schemas, compiled in one kernel call: from their frozen form to the rows of a JSON program."""
