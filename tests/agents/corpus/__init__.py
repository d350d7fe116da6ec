"""Workflows in the styles that searches write; every one answers with an option if the model does."""

from tests.agents.corpus.dialogue import DIALOGUE
from tests.agents.corpus.language import LANGUAGE
from tests.agents.corpus.sampling import SAMPLING

CORPUS = {**SAMPLING, **DIALOGUE, **LANGUAGE}
