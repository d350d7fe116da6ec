from .page import page_template as page_template, write_html as write_html, write_whole as write_whole
from .table import estimates_table as estimates_table, percent as percent
