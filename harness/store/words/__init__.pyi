from .word_index import (
    WordRepository as WordRepository, clear_words as clear_words, index_new_words as index_new_words,
)
