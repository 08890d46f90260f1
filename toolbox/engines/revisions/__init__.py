"""Two revisions of a git repository side by side, without git and without its configuration."""
