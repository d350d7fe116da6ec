"""Sphinx configuration: ``make docs`` builds the site in docs/_build/html, which can be opened from disk."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from oversight.harness import __version__  # noqa: E402  from this clone, whatever is installed

project = "oversight"
author = "oversight contributors"
project_copyright = "oversight contributors, Apache-2.0"
version = release = __version__

extensions = [
    "myst_nb",  # Markdown pages, and notebooks with their stored outputs
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "directives",
]
exclude_patterns = ["_build", "directives", "search.md", "view"]
nitpicky = True
# Do not warn about Python names without a page: types of other packages and internal names appear as code.
nitpick_ignore_regex = [("py:.*", ".*")]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "off"  # tests/test_notebooks.py runs notebooks and compares their outputs

default_role = "py:obj"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = "$ "
copybutton_here_doc_delimiter = "EOF"

html_theme = "furo"
html_title = f"oversight {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_domain_indices = False
html_copy_source = False
html_show_sourcelink = False
# Search excerpts are fetched by script, which browsers forbid for pages opened from disk.
html_show_search_summary = False
