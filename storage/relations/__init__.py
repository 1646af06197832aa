"""Sentences with pairs of arguments, and rules about them, in the files of those who publish them."""
