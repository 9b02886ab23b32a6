"""Pages measured in Chromium."""
