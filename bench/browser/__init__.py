"""Pages that are measured in Chromium, and visitors that need none."""
