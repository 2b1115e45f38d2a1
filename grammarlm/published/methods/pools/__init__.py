"""Published pools of answers: which paths are forked, dropped and kept."""
