"""Replies that name an option but do not give it as the answer, and similar replies that do."""

from __future__ import annotations

import pytest

from oversight.harness.llm import ReplyForm, read_reply

TF, YN = ("true", "false"), ("yes", "no", "maybe")
NUMBERS, WARDS = ("2", "1", "4", "3"), ("cardiology", "neurology")
UNREADABLE = [
    *[(TF, said) for said in ("ANSWER: true or false", "both true and false", "true/false")],
    *[
        (TF, said)
        for said in ("The answer is true or false.", "It is true or false.", "ANSWER: true / false")
    ],
    *[(YN, said) for said in ("ANSWER: yes or maybe", "yes and no", "The answer is yes or no.", "yes/no")],
    (("yes", "no", "not yes"), "ANSWER: yes no"),
    (("ja", "nein"), "ANSWER: ja und nein"),
    *[(NUMBERS, said) for said in ("ANSWER: -2", "ANSWER: less than 2", "The answer is less than 2.")],
    *[(NUMBERS, said) for said in ("ANSWER: 2 or more", "ANSWER: 2+", "ANSWER: < 2", "ANSWER: at least 2")],
    *[(NUMBERS, said) for said in ("Die Antwort ist mindestens 2.", "La réponse est moins de 2.")],
    (WARDS, "ANSWER: cardiology\nNo, that is wrong."),
    (WARDS, "ANSWER: cardiology\nThat's incorrect."),
    (WARDS, "ANSWER: cardiology\nBut I cannot determine the answer."),
    (WARDS, "ANSWER: rule out cardiology"),
    (WARDS, "Rule out cardiology."),
    (WARDS, "My previous answer was cardiology."),
    (WARDS, '{"answer": "cardiology", "correct": false}'),
    (WARDS, "I'm sorry, I can't help with that. This should go to cardiology."),
]
READ = [
    (TF, "ANSWER: true", "true"),
    (TF, "False, because it is not true.", "false"),
    (YN, "No, there is no doubt.", "no"),
    (YN, "There is no other way; the answer is yes.", "yes"),
    (YN, "ANSWER: no\nThat is wrong.", "no"),
    (("none", "other", "neurology"), "Unlike other neurology cases, the answer is none.", "none"),
    (NUMBERS, "ANSWER: - 2", "2"),
    (NUMBERS, "It is more than 1, so the answer is 2.", "2"),
    (NUMBERS, "About 2.", "2"),
    (WARDS, "ANSWER: cardiology\nThis is not a neurological problem.", "cardiology"),
    (WARDS, "ANSWER: cardiology\nNeurology is wrong.", "cardiology"),
    (WARDS, "ANSWER: cardiology\nThat is not wrong.", "cardiology"),
    (WARDS, '{"answer": "cardiology", "correct": true}', "cardiology"),
    (WARDS, "I can't give medical advice, but the answer is cardiology.", "cardiology"),
    (WARDS, "I can't help with the diagnosis, but this should go to cardiology.", "cardiology"),
    (WARDS, "My first answer was neurology, but the answer is cardiology.", "cardiology"),
]


@pytest.mark.parametrize("asked", [ReplyForm(), ReplyForm("line", "option")])
@pytest.mark.parametrize(("options", "said"), UNREADABLE)
def test_option_that_is_not_the_answer_is_unreadable(
    options: tuple[str, ...], said: str, asked: ReplyForm
) -> None:
    assert read_reply(said, options, asked).option is None


@pytest.mark.parametrize("asked", [ReplyForm(), ReplyForm("line", "option")])
@pytest.mark.parametrize(("options", "said", "answer"), READ)
def test_ordinary_reply_with_similar_words_is_read(
    options: tuple[str, ...], said: str, answer: str, asked: ReplyForm
) -> None:
    found = read_reply(said, options, asked).option
    assert found is not None
    assert options[found] == answer
