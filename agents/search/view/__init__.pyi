from .candidate import read_candidate as read_candidate
from .candidate_item import read_candidate_item as read_candidate_item
from .exported import read_exported_parts as read_exported_parts
from .listed_searches import read_searches as read_searches
from .search_parts import whole_archive as whole_archive
