from .estimate_words import questions_text as questions_text
from .html_page import write_html as write_html
from .panel_pictures import alphas_svg as alphas_svg, bounds_svg as bounds_svg, parity_svg as parity_svg
from .search_findings import (
    SearchReport as SearchReport, SearchedCandidate as SearchedCandidate, SearchedWinner as SearchedWinner,
)
from .search_page import write_search_html as write_search_html
from .search_terminal import search_text as search_text
from .terminal_table import counts_table as counts_table, estimates_table as estimates_table
