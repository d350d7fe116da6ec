from .candidate import read_candidate as read_candidate
from .exported import read_candidate_item as read_candidate_item, read_exported_parts as read_exported_parts
from .listed_searches import read_searches as read_searches
from .search_parts import whole_archive as whole_archive
