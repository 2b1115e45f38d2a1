"""Engines side by side on JSON schemas, and drafters, as commands of the installed package.

    grammarlm bench jsonschemabench DIR --model scripted --engines grammarlm,llguidance
    grammarlm bench maskbench DIR
    grammarlm bench schema-suite DIR
    grammarlm bench drafts

A **case** is a schema, mostly with labelled instances. A child process does a **task** with it (judges the instances, generates
texts, validates them), one case after the other, under a limit of time and memory; its result is a **record**, appended to a file,
so that a run can be resumed. Outcomes are counted separately; a verdict includes the end of the text.

    verdicts/     MaskBench and the official suite        generation/    JSONSchemaBench
    drafts/       drafters on the embedded model's tasks
    cases.py      files -> cases                         engines.py     ours, and the one interface
    peers.py      the other engines                      llama.py       llama.cpp, which needs a vocabulary of its own
    tasks.py      what a child can do, by name           worker.py      the child process: case -> record
    driver.py     the parent: limits, restarts, files    record.py      what all records have
    comparison.py several runs, and their report         page.py        the report as a page
    markdown.py   tables                                 outcome_bars.py  a part of the pictures
    arguments.py  the command line                       tokenizer.py   the tokenizer that all share
"""
