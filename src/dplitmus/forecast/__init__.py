"""Attacks that guess which input made an output."""
