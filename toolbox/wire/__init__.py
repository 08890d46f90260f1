"""Bytes to calls and replies to bytes: framing without I/O."""
