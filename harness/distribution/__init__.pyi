from .extras import VERSION as VERSION, install_line as install_line, require as require
