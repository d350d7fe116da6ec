from .agents_folder import refuse_mixed_folder as refuse_mixed_folder
from .extras import (
    DISTRIBUTION as DISTRIBUTION, VERSION as VERSION, install_line as install_line, require as require,
)
