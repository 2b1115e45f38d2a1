"""Structural tags: the JSON in which servers hand tools, thoughts and schemas of answers to a grammar."""
