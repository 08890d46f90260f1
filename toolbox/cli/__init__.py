"""People and scripts at a terminal: `toolbox json …`, `toolbox diff …`, `toolbox serve` and the rest."""
