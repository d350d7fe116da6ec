from .formats import READERS as READERS, format_of as format_of, read_foreign as read_foreign
