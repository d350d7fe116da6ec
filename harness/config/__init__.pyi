from .models import (
    LOCAL_ENDPOINT as LOCAL_ENDPOINT, ModelSection as ModelSection, RunSpec as RunSpec, api_key as api_key,
)
from .search import SearchSection as SearchSection
from .study import STUDY_FILE as STUDY_FILE, Study as Study, read_study as read_study
