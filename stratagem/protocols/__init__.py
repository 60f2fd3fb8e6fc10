"""The outside world: file formats and wire protocols."""
