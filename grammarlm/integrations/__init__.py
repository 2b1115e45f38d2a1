"""One engine a file: what plugs grammarlm into it."""
