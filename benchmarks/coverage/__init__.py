"""How often intervals hold what they should, measured on disjoint samples of a corpus: docs/how_sure.md."""
