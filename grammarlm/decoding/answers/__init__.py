"""What an answer is held to, and what is read from it: values, parts, turns of an assistant, events."""
