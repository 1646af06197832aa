"""p-values over the partitions of two sets, exact or between certified bounds."""
