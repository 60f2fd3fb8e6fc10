"""Replays of generals.io (`.gior`): import with every move checked, and export that loses nothing."""
