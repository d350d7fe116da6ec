from .word_index import WordRepository as WordRepository, index_new_words as index_new_words
