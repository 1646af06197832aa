"""Databases that results are written into, whole or not at all."""
