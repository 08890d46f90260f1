"""The daemon of one workspace: its doors, its queue, its workers."""
