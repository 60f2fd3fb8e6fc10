"""Things that choose actions."""
