"""What may be touched in a workspace, and how: it knows nothing of the toolbox built on it."""
