"""What a game is, and how to play one."""
