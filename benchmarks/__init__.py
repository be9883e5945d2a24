"""Measurements: scripts, and mechanisms with known bugs. A package, for others install one of this name."""
