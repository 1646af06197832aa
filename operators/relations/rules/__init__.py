"""The rule language of relations: what rules are, how they are written and read, and what they match."""
