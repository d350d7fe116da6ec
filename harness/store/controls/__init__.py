"""Control questions (gold, repeats and overlap), stored in other tables than the study's questions."""
