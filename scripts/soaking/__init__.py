"""The parts of scripts/soak.py: people with and without a browser, and the server that they use."""
