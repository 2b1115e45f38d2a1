"""Regular languages: terms, derivatives, and Python's notation of regular expressions."""
