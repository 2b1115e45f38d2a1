"""Arrays, objects and listed values: reading, conjunction, negation."""
