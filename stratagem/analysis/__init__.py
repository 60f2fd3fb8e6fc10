"""Looking back at games: grading decisions, luck and skill, reviews."""
