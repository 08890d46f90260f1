"""Speed against peers, side by side: `python -m bench`."""
