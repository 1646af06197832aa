"""Tiltmeter measures how far language technology leans, and how sure it is of it."""
