"""The rows of a program, a file a type: each class writes to the rows and bytes that program.py hands to all of them."""
