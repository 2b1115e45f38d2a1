"""Engines side by side on JSON schemas, as commands of the installed package.

    grammarlm bench jsonschemabench DIR --model scripted --engines grammarlm,llguidance
    grammarlm bench maskbench DIR

A **case** is a schema, mostly with labelled instances. A child process does a **task** with it (judges the instances, generates
texts, validates them), one case after the other, under a limit of time and memory; its result is a **record**, appended to a file,
so that a run can be resumed. Outcomes are counted separately; a verdict includes the end of the text.

    verdicts/     MaskBench                              generation/    JSONSchemaBench
    cases.py      files -> cases                         engine.py      what all engines have
    engines.py    ours, and all by name                  peers.py       the others
    tasks.py      what a child can do, by name
    worker.py     the child process: case -> record      driver.py      the parent: limits, restarts, files
    record.py     what all records have                  comparison.py  several runs, and their report
    markdown.py   tables                                 tokenizer.py   the tokenizer that all share
    arguments.py  the command line
"""
