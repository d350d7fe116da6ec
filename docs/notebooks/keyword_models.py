"""Stand-ins for language models: functions from prompt to answer, which need no network and no key."""

from __future__ import annotations

import json
import re

WORDS = {
    "cardiology": "heart|chest pain|palpitation|valve|defibrillator|stent|atrial|syncope|murmur|ecg",
    "neurology": "seizure|headache|tremor|numb|weakness|memory|stroke|migraine|carbamazepine|gait",
    "gastroenterology": "stool|bowel|colon|liver|swallow|reflux|jaundice|biopsy|diarrh|abdom",
    "pulmonology": "cough|breath|lung|wheez|inhaler|sputum|oxygen|asthma",
    "nephrology": "kidney|egfr|creatinine|dialysis|urine|protein|renal|potassium",
    "endocrinology": "thyroid|glucose|insulin|hormone|diabet|adrenal|cortisol|calcium|tsh",
    "dermatology": "skin|rash|itch|mole|plaque|blister|cream|nail|scalp",
    "rheumatology": "joint|knuckle|stiff|lupus|gout|swollen|ccp|arthritis",
}


def careful(prompt: str) -> str:
    """The specialty whose words occur most often; it always has an answer."""
    text = prompt.lower()
    return max(WORDS, key=lambda name: len(re.findall(WORDS[name], text)))


def hasty(prompt: str) -> str:
    """The first specialty for which the note contains one of three words, or a refusal if there is none."""
    text = prompt.lower()
    few = {name: "|".join(words.split("|")[:3]) for name, words in WORDS.items()}
    return next((name for name, words in few.items() if re.search(words, text)), "I cannot tell.")


def stubborn(prompt: str) -> str:  # noqa: ARG001  it does not read
    """Cardiology, whatever the note says."""
    return "cardiology"


def attentive(prompt: str) -> str:
    """Answer a workflow's call in JSON: with reasoning, unless asked to answer at once."""
    question = prompt.rsplit("### Question", 1)[-1]
    note, _, rest = question.partition("\n(A)")
    meant = hasty(note) if "Answer at once" in rest else careful(note)
    options = {name: letter for letter, name in re.findall(r"\((\w)\) (\w+)", question)}
    return json.dumps({"thinking": "by its words", "answer": options.get(meant, "A")})
