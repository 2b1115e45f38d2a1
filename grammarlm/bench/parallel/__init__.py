"""`grammarlm bench parallel`: what several tokens a step cost, on tasks whose joint law is known."""
