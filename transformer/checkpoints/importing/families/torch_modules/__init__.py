"""Users' own PyTorch modules, saved as state dicts only: settings that these lack are asked for."""
