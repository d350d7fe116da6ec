from .findings import (
    SearchReport as SearchReport, SearchedCandidate as SearchedCandidate, SearchedWinner as SearchedWinner,
)
from .html import write_search_html as write_search_html
from .text import search_text as search_text
