"""Drafters side by side on the tasks of the embedded models' text: `grammarlm bench drafts`.

rows.py      one `gl.Draft` a row, on the prompts of a task      peers.py     rows of other packages
masks.py     masks of draft trees, by several engines            report.py    the command: tables and the picture
"""
