"""How often p-values reject what is true, and intervals hold what is: every published one, on data whose truth is known."""
