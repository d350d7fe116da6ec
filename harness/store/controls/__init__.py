"""Control questions (gold, repeats and overlap), stored in separate tables from the study's questions."""
