"""What the design of a study lets be shown: sides of units, controls, splits, thresholds, one-sided scores."""
