"""The answer page for experts: one question at a time, on phone or desktop, one key or tap per answer."""
