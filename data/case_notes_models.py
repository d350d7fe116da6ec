"""Seven small classifiers of the case notes: each writes what it answers to NAME.csv, with its confidence.

Three learn from the 24 examples (by words, by beginnings of words, by letters), one takes the label of the
nearest of them, three count words of lists: some words a specialty, more, and most. No key is opened. They
stand for models in the walk of docs/saving.md, where a study needs several that differ; none is good. The
examples become gold.csv, items whose answer is known.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).parent
Guess = Callable[[str], dict[str, float]]
"""Logarithms of what speaks for each class."""

LISTS = {
    "cardiology": (
        "heart palpitation angina murmur valve fibrillation pacemaker infarct ecg statin stent "
        "chest exertion ventric defibrill aort syncope troponin bisoprolol collapse ankle "
        "swelling orthopnoea bnp pulse arrhythm coronary cardiac ejection ablation warfarin "
        "apixaban echo endocard pericard oedema breathless lying blood pressure hypertens "
        "cholesterol lipid tachycard bradycard beats faint lvh mitral regurgit graft bypass "
        "valsartan amiodarone thump flutter missed leads"
    ),
    "neurology": (
        "seizure tremor migraine headache numb weakness stroke speech gait memory epilep "
        "multiple mri nerve tingl parkinson facial double vision carbamazepine myasthenia reflex "
        "foot drop aura fits brain csf lumbar thunderclap arm twitch clumsy confus dementia slur "
        "eyelid droop neuropath optic sclerosis sensation walking stumbl falls jerk staring "
        "levodopa hallucinat word-finding calf vertigo cluster neuralg jolts blank wakes pins "
        "handwriting tongue"
    ),
    "gastroenterology": (
        "bowel stool diarrhoea liver colon swallow heartburn reflux polyp jaundice coeliac crohn "
        "colitis bloating ascites hepat vomit endoscop varices gallstone pancrea rectal bleeding "
        "abdominal ferritin gut belly dysphagia ulcer helicobacter endosc omeprazole "
        "transaminase alt bilirubin cirrhos hepatitis constipat nausea food sticks swallowing "
        "ibs calprotectin transglutaminase loose stools mucus spleen portal pale fatty alcohol "
        "gluten barrett enzyme motions tummy rectum peptic stomach"
    ),
    "pulmonology": (
        "cough breath asthma inhaler copd lung wheeze oxygen sputum spirometr fibrosis pleural "
        "pneumon smok nodule apnoea cpap bronch sarcoid effusion night sweat haemoptysis chest "
        "fev crackle lungs respirat ventilat film breathing phlegm tubercul clubbing emphysem "
        "spiro salbutamol saturation sats sleepy snor embol legionella asbestos mask bird mould "
        "productive puff co2 desaturat pleura infiltrate hilar lobe nocturnal nebulis"
    ),
    "nephrology": (
        "kidney egfr creatinine dialysis proteinuria haematuria transplant nephr urine potassium "
        "fistula renal cyst albumin frothy peritoneal phosphate donor tacrolimus obstruct stones "
        "anaemia itching acr sodium kidneys glomerul iga nephritis ckd dipstick protein blood "
        "casts machine hyperkal bicarbonate ultrasound polycyst apkd catheter fluid balance "
        "ureter hydronephrosis parathyroid erythropoietin itch dialys graft acidosis lithium "
        "foamy stent filtration restless acute tubular biopsy"
    ),
    "endocrinology": (
        "thyroid insulin diabet glucose hba1c pituitar cortisol adrenal prolactin calcium "
        "hormone testoster goitre graves addison cushing menopaus weight sweats tsh metformin "
        "ketone growth periods thirst gland thyrox sugar hypogly pump acth hydrocortisone "
        "acromegal hirsut pcos osteopor vitamin fracture galactorrh milk moon striae salt "
        "craving tan polyuria libido virilis puberty ketoacid sweat tremulous neck lump ring "
        "size shoe steroid bmi obese metabolic"
    ),
    "dermatology": (
        "rash skin itch eczema psoria mole acne blister plaque scalp nail melanom lesion cream "
        "sunburn ulcer patches hair wart scabies urticaria sores biopsy pigment red scaly dermat "
        "derm crust bullae vesicle pustul flaking papule isotretinoin sun exposed dry hands "
        "palms soles ringworm alopecia bald vitiligo hives weals wheal cellulit shingles "
        "keratosis basal cell spots crusted purple rosacea impetigo tinea steroid hyperhidrosis "
        "fungal prurit itchy"
    ),
    "rheumatology": (
        "joint arthrit gout knee stiff lupus hand wrist ccp rheumat methotrexate raynaud "
        "vasculit spondyl uric finger swollen back morning ana steroid polymyalgia shoulder dry "
        "esr crp arthralgia joints stiffness allopurinol hla-b27 anti-ccp complement butterfly "
        "ankylos sicca sjogren dermatomyos myositis jaw temporal giant cell tocilizumab biolog "
        "adalimumab hydroxychloroquine fibromyalg tender points osteoarth knuckle thumb toe "
        "tophi pain early rings white cold fingers blue psoriatic enthes"
    ),
}
SIZES = {"short": 8, "longer": 24, "full": 60}
"""How many words of each list the classifiers that count them know."""


def main() -> None:
    """Write a file for every classifier, and the gold items."""
    examples = [json.loads(line) for line in (HERE / "case_notes.examples.jsonl").read_text().splitlines()]
    notes = [json.loads(line) for line in (HERE / "case_notes.jsonl").read_text().splitlines()]
    learned = {"words": find_words, "beginnings": find_beginnings, "letters": find_letters}
    guesses: dict[str, Guess] = {name: learn(examples, parts) for name, parts in learned.items()}
    guesses["nearest"] = find_nearest(examples)
    guesses |= {name: count_listed(size) for name, size in SIZES.items()}
    for name, guess in guesses.items():
        with Path(f"{name}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["id", "prediction", "confidence"])
            writer.writerows([note["id"], *decide(guess(note["text"]))] for note in notes)
    with Path("gold.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "answer"])
        writer.writerows([example["text"], example["label"]] for example in examples)


def find_words(text: str) -> list[str]:
    """Words of four letters or more."""
    return re.findall(r"[a-z0-9]{4,}", text.lower())


def find_beginnings(text: str) -> list[str]:
    """Their first five letters."""
    return [word[:5] for word in find_words(text)]


def find_letters(text: str) -> list[str]:
    """Any four letters in a row."""
    plain = re.sub(r"[^a-z]+", " ", text.lower())
    return [plain[j : j + 4] for j in range(len(plain) - 3)]


def learn(examples: list[dict[str, str]], parts: Callable[[str], list[str]]) -> Guess:
    """Naive Bayes over parts of texts, with ½ added to every count."""
    counts = {label: Counter[str]() for label in LISTS}
    for example in examples:
        counts[example["label"]].update(parts(example["text"]))
    known = {part for each in counts.values() for part in each}

    def guess(text: str) -> dict[str, float]:
        found = [part for part in parts(text) if part in known]
        return {
            label: sum(math.log((each[p] + 0.5) / (each.total() + 0.5 * len(known))) for p in found)
            for label, each in counts.items()
        }

    return guess


def find_nearest(examples: list[dict[str, str]]) -> Guess:
    """By the example that shares most letters in a row."""

    def guess(text: str) -> dict[str, float]:
        own, best = set(find_letters(text)), dict.fromkeys(LISTS, 0.0)
        for example in examples:
            other = set(find_letters(example["text"]))
            share = len(own & other) / math.sqrt(len(own) * len(other))
            best[example["label"]] = max(best[example["label"]], 8 * share)
        return best

    return guess


def count_listed(size: int) -> Guess:
    """By words of the lists that the text holds."""
    lists = {label: words.split()[:size] for label, words in LISTS.items()}

    def guess(text: str) -> dict[str, float]:
        plain = text.lower()
        return {label: 1.5 * count(word in plain for word in words) for label, words in lists.items()}

    return guess


def count(found: Iterable[bool]) -> int:
    """How many are true."""
    return sum(found)


def decide(scores: dict[str, float]) -> tuple[str, float]:
    """The class that most speaks for, and how much, of all."""
    best = max(scores, key=lambda label: scores[label])
    return best, round(1 / sum(math.exp(score - scores[best]) for score in scores.values()), 3)


if __name__ == "__main__":
    main()
