"""Drafters side by side on the tasks of the embedded models' text: `python -m benchmarks.drafts`.

rows.py      one `gl.Draft` a row, on the prompts of a task      peers.py     rows of other packages
masks.py     masks of draft trees, by several engines            __main__.py  the command: tables and the picture
"""
