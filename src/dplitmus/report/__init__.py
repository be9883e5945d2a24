"""Pure functions from results to text, JSON and HTML."""
