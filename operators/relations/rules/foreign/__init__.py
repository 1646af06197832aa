"""Rules of other languages, as far as published rules need them, in ours."""
