"""People and scripts at a terminal: the verbs, `toolbox serve`, and the rest."""
