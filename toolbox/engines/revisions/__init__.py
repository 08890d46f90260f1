"""Revisions of a git repository, read without running anything."""
