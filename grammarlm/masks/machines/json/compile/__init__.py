"""From schemas to the rows of a program, by way of their normal form."""
