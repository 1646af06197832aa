"""What the papers print and what comes out here: one module for each paper, one table for each in its page of the docs.

A module has `TITLE` (the paper), `PAGE` (of docs/), `DATA_FILES` (of the development data) and `figures()`.
"""
