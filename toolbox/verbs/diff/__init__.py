"""The verbs of `@diff`."""
