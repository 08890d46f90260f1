"""The verbs of `@json`."""
