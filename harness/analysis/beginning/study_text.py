"""The texts of the files that a study begins with."""

from __future__ import annotations

STUDY = """\
#:schema study.schema.json
# A study: which items, which experts, which models. Paths are relative to this file.

[study]
name = {name}
{seed}# of every random draw; keep it secret, and change it before the first routing only
store = "study.db"             # a file, or postgresql://HOST/NAME

[items]
{source}
{id}# column with a unique id (a hash of text and options if there is none)
{text}# column with what is asked
{meta}# columns to keep, for estimates by stratum
# cluster = "patient"          # column whose equal values make items depend on each other
# limit = 500                  # read only the first so many
# skip_bad = true              # leave wrong rows out, and count them

[experts]
roster = "experts.toml"
protocol = "partitioned"       # every item to one expert, drawn uniformly over the options
#     "targeted"               # asks where the models (run first) predict: far fewer questions
#     "sequential"             # asks about predicted options until every item is resolved
#     "disagreement"           # compares two models: asks only where they differ
#     "panel"                  # several annotators choose among all options: see docs/panels.md
# options_per_item = 1         # partitioned: ask about m different options of each item
# annotators_per_item = 3      # panel: of the experts with classes = ["*"]
# models = ["small"]           # the others: whose predictions to look at (default: all that were run)
# gold = "gold.csv"            # items of known answer, woven into the queues: see docs/controls.md
# repeat = 0.05                # so many questions once more to the same expert, and to a second one:
# overlap = 0.05

# [label_studio]               # for `oversight label push`; see docs/label-studio.md
# instructions = "Read the note. Would you treat this patient?"
# isolated = true              # one server per expert, so that nobody can see another's answers

# [search]                     # for `oversight search`; see docs/search.md
# candidates = {candidates}
# start = "cot"                # the workflow that you would use now

[prompt]
template = "prompt.txt"        # fields: $text $options $names $letters; built-in one if left out
# system = "system.txt"        # system prompt
# max_words = 200              # show at most so many words of a text
# answer = "line"              # or "schema", "choice", "free": the form in which answers are asked for
# pattern = '(?P<answer>\\w+)$' # or a pattern of your own, whose group holds the option

[models.small]
endpoint = "local"             # the model of `oversight model start`
model = "smollm2-135m-instruct"
temperature = 0.0
{max_tokens}# room to think before the last line; a model that reasons at length needs thousands

# [models]
# judge = "large"                  # a model whose probabilities save questions about the others

# [models.large]
# endpoint = "https://api.openai.com/v1"
# model = "gpt-5-mini"
# api_key_env = "OPENAI_API_KEY"   # the key is read from this environment variable, never from here
# concurrency = 8
# structured = "auto"              # answer in a JSON Schema where the endpoint can
# samples = 1                      # several answers per item are put to a vote
#     python = "module:function"   # or command = ["./program"], in place of an endpoint

[estimate]
level = 0.95
# strata = "subject"           # estimate by this column, or by "confidence", and weight the strata
# panel = "ratings.csv"        # instead: by how certain a panel's vote on each item is
"""

FIXED = """\
{file}# .csv, .jsonl (both also .gz), .parquet or .xlsx
classes = {classes}
# Without classes every item brings its own options:
# options = "options"          # a column with a list, or several: ["A", "B", "C", "D"]"""

OWN = """\
{file}# .csv, .jsonl (both also .gz), .parquet or .xlsx
{options}# a column with a list, or several: ["A", "B", "C", "D"]
# classes = ["cardiology", "neurology"]   # instead: the same options for every item"""

PRESET = """\
preset = {preset}              # one of: {known}
{file}"""

ASK_CLASS = """\
$text

Which one of these is it: $names?

Think first if it helps. Then end with a last line that holds only your answer:
ANSWER: one of $names
"""
"""Prompt of a study with fixed classes."""

ASK_LETTER = """\
Answer the following multiple-choice question.

$text

$options

Think first if it helps. Then end with a last line that holds only your answer:
ANSWER: one of the letters $letters
"""
"""Prompt of a study whose items bring their own options."""
