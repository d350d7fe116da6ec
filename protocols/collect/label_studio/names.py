"""Names that both sides must agree on: of servers, accounts and projects."""

from __future__ import annotations

import hashlib
import re

TITLE_LENGTH = 50  # Label Studio's own limit; at least 3


def slug(name: str) -> str:
    """Turn any name into letters, digits and dashes; different names stay different."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name:
        return plain
    return f"{plain[:24] or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def server_name(study: str, expert: str) -> str:
    """Name of an expert's own server."""
    return f"{slug(study)}--{slug(expert)}"


def account_email(expert: str, email: str) -> str:
    """Address an expert logs in with: the roster's, else one that no mail can reach."""
    return (email or f"{slug(expert)}@experts.invalid").lower()


def project_title(study: str, expert: str, *, closed: bool = False) -> str:
    """Title of an expert's project."""
    return f"{'(closed) ' * closed}{study} · {expert}"[:TITLE_LENGTH].ljust(3, "·")
