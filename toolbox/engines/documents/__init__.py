"""JSON, JSON Lines and YAML as verbatim JSON text with places in their source."""
