"""Order desk. Deliberately vulnerable: see README.md."""
