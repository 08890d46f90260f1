"""Pure engines: bytes and values in, values out; nothing here opens a file."""
