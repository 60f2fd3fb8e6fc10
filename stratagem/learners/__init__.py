"""Learners: functions from a game, a network and a config to a run that can be stopped at any moment."""
