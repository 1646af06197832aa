"""How often p-values reject what is true and intervals hold what is: every published one, where the truth is known."""
