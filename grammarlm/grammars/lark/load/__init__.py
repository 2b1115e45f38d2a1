"""Reads grammars in lark's notation with lark's meaning, without lark: rules, terminals and their patterns."""
