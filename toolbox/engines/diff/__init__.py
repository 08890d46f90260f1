"""What differs between two texts, sequences, trees, tables or Markdown documents."""
