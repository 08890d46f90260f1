"""Questions about JSON and YAML, diffs and strict patches, confined to one workspace."""
