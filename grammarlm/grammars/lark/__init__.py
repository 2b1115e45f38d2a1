"""Lark's notation with lark's meaning: reader, bounds, tables, lexer."""
