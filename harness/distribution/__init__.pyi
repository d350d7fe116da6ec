from .extras import (
    DISTRIBUTION as DISTRIBUTION, VERSION as VERSION, install_line as install_line, require as require,
)
