from .application import serve_study as serve_study
