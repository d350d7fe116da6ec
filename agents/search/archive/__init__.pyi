from .archive import Archive as Archive, Candidate as Candidate
from .contamination import find_quotations as find_quotations
from .journal import load_archive as load_archive
