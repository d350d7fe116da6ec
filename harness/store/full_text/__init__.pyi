from .full_text_index import (
    FullTextRepository as FullTextRepository, clear_words as clear_words, index_new_words as index_new_words,
)
