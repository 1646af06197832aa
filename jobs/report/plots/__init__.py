"""Five plots that all capabilities share.

Each is a function of rows, one for each mark, and of the names of their columns. The same words mean the same in all:
``by`` is the column of kinds, each of which has a look and a place in the legend, unless its name is empty; ``looks``
are those of kinds, by name; ``hover`` is what the pointer shows of a row; titles are those of the axes.
"""
