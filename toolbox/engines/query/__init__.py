"""Questions about a document: paths, filters, shapes."""
