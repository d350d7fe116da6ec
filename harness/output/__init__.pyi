from .safe_text import (
    counted as counted, did_you_mean as did_you_mean, guard_cell as guard_cell, join_lines as join_lines,
    join_reasons as join_reasons,
    keep_secret as keep_secret, make_printable as make_printable, make_storable as make_storable,
    pool_text as pool_text, redact as redact, redact_bytes as redact_bytes, reveal as reveal,
    shorten as shorten, unguard_cell as unguard_cell,
)
from .terminal import (
    guarded_terminal as guarded_terminal, log_to_stderr as log_to_stderr, plain_table as plain_table,
    say as say, show as show, with_bar as with_bar,
)
from .text_input import (
    UTF_16_MARKS as UTF_16_MARKS, decode_text as decode_text, explain_kind as explain_kind,
    read_text as read_text,
)
