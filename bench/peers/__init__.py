"""The libraries that Headlight is measured against."""
