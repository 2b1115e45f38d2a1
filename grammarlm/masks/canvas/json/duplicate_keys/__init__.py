"""Keys of one object that may come twice: marks around given ones, and completions that are read."""
