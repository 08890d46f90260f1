"""Unified patches: parsed, checked, located, applied in memory."""
