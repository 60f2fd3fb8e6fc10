"""The rules, one file (or one small folder) a game."""
