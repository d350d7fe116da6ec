"""Run models over items: prompts, calls, parsing of answers, storage and progress."""
