from .study_page import write_html as write_html
from .table import estimates_table as estimates_table
