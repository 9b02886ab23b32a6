"""The Transformer itself: its configuration, its modules, and the tap for looking inside."""
