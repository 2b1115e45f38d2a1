"""One engine a file or folder: what plugs grammarlm into it. serving/ is what all servers need."""
