"""Texts whose parts are read by machines of their own."""
