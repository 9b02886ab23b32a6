"""Pages measured in Chromium, and visitors that need no browser."""
