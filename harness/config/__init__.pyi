from .models import (
    AnswerForm as AnswerForm, LOCAL_ENDPOINT as LOCAL_ENDPOINT, ModelSection as ModelSection,
    OPENAI as OPENAI, RunSpec as RunSpec, Section as Section, api_key as api_key,
)
from .study import (
    CostsSection as CostsSection, SearchSection as SearchSection, Study as Study,
    refuse_password as refuse_password,
)
from .study_file import (
    STUDY_FILE as STUDY_FILE, read_study as read_study, SCHEMA_FILE as SCHEMA_FILE,
    read_schema_text as read_schema_text, change_setting as change_setting,
)
