"""Hispania: nations rise and fall on the Iberian Peninsula; stacks, battles, many decisions a turn."""
