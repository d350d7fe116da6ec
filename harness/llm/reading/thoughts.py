"""Remove reasoning, special tokens and invented turns of other speakers from a reply."""

from __future__ import annotations

import re
from collections.abc import Callable

_NAMES = (
    r"(?:begin[_ ]of[_ ]|start[_ ]of[_ ]|start[_ ]|end[_ ]of[_ ]|end[_ ])?(?:\w{1,20}:)?"
    r"(?:think|thinking|thoughts?|reasoning|reasoning[_ ]content|reflection|scratch[_ ]?pad|cot|"
    r"chain[_ ]of[_ ]thought|inner[_ ]monologue|inner[_ ]thoughts|rationale|thinking[_ ]process|deliberation|"
    r"cot_budget_reflect|internal[_ ]monologue|analysis|thinking[_ ]trace|reasoning[_ ]trace|"
    r"thought[_ ]process)"
)
_WEAK_NAMES = ("analysis", "rationale", "reflection", "deliberation")
"""Names of marks that may also be headings, so they begin reasoning only if a closing mark follows."""
_OPENERS, _CLOSERS = r"(?:<\|?|＜|\[|◁|【|\{\{?|«|〈)", r"(?:\|?>|＞|\]|▷|】|\}\}?|»|〉)"
_MARK = re.compile(
    rf"{_OPENERS}\s*(?P<end>/|end[_ ](?:of[_ ])?)?\s*(?P<name>{_NAMES})"
    rf"(?:\s+\w+\s*=[^<>\[\]{{}}\n]{{0,80}})?\s*{_CLOSERS}",
    re.IGNORECASE,
)
_CHANNEL_FINAL = re.compile(r"<\|channel\|>\s*final\b.*?<\|message\|>", re.DOTALL)
_CHANNEL = re.compile(r"<\|channel\|>\s*(?:analysis|commentary)")
_BARE_CHANNEL = re.compile(
    r"^\s*analysis(?=[A-Z\W_]).*?assistant\s*(?:commentary.*?assistant)?\s*final(?P<answer>.*)\Z",
    re.DOTALL,
)
_BARE_ANALYSIS = re.compile(r"^\s*analysis(?=[A-Z])")
_UNUSED = re.compile(r"<unused94>.*?(?:<unused95>|\Z)", re.DOTALL)
_PLAIN_THOUGHT = re.compile(
    r"^\s*(?:\*\*)?Thinking(?:\.{3}|…)(?:\*\*)?\s*\n.*?(?:\.{3}|…)\s*done thinking\.?",
    re.DOTALL | re.IGNORECASE,
)
_PLAIN_OPEN = re.compile(r"^\s*Thinking(?:\.{3}|…)\s*\n", re.IGNORECASE)
_FENCED_THOUGHT = re.compile(
    r"```(?:thinking|thought|thoughts|think|reasoning)\s*\n.*?(?:```|\Z)", re.DOTALL | re.IGNORECASE
)
_NEXT_TURN = re.compile(
    r"<\|im_start\|>\s*user|<\|start_header_id\|>\s*user|<start_of_turn>\s*user|<\|user\|>|\[INST\]"
    r"|(?:<\|(?:endoftext|im_end|eot_id|end_of_text|end)\|>(?!\s*<\|start\|>assistant)|</s>"
    r"|<end_of_turn>|<eos>)(?=\s*\S)"
    r"|^[ \t]*(?:\*\*|#{1,6}\s*)?(?:User|Human|Instruction|Question|Next question|Q|Frage|Pregunta"
    r"|Domanda|Pergunta|Вопрос|问题|問題|题目|題目|質問|질문|Student)(?:\s*\d+)?"
    r"\s*(?:\*\*)?\s*[:：.](?!\S*/)",
    re.IGNORECASE | re.MULTILINE,
)
_TOKENS = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>|</?s>|<(?:eos|bos|pad|unk|end_of_turn|start_of_turn)>"
    r"|<end_of_utterance>|\[/?INST\]|<</?SYS>>|\[(?:EOS|END|PAD|SEP|CLS|BOS)\]|<0x[0-9A-F]{2}>|<[a-z_]{3,20}\d{1,4}>"
    r"|</?(?:output|response|reply|result|solution)>|\[end of text\]",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"^\s*(?:<start_of_turn>\s*|<\|im_start\|>\s*|<\|start_header_id\|>\s*)?(?:#{1,6}\s*|\*\*)?"
    r"(?:(?:AI |the )?assistant|AI|bot|chatbot|gpt|model|system|response|output|completion)"
    r"(?:\*\*)?\s*(?:[:：](?:\*\*)?|\n|(?<=>))",
    re.IGNORECASE,
)


_MARKUP = re.compile(
    r"</?(?:p|b|i|u|em|strong|br|span|div|li|ul|ol|h[1-6]|mark)(?:\s[^<>\n]*)?/?>", re.IGNORECASE
)
_WIDE = {code: code - 0xFEE0 for code in range(0xFF21, 0xFF5B)} | {0x1F150 + j: 65 + j for j in range(26)}
"""Translation table from full-width and circled letters to plain letters."""
_BRIEF = 80
_NEXT_EXAMPLE = re.compile(
    r"\s*\n(?!\s*(?:explanation|reason|rationale|note|analysis|justification|why|because|evidence|comment))"
    r"[A-Z]\w*(?: \w+)?:[^\n]*\S[^\n]*\n(?:[^\n]*\n)*?\s*[A-Z]\w*(?: \w+)?:\s*\S",
    re.IGNORECASE,
)
"""Pattern of text that follows a first line and looks like another few-shot example with several fields."""


def cut_thoughts(text: str) -> str:
    """Remove from a reply the reasoning that stands between known marks, such as ``<think>``.

    If a mark is opened but not closed, the rest of the text is reasoning. If a mark is
    closed but not opened, everything before it is reasoning, because the opening mark may
    be part of the prompt.

    Examples
    --------
    >>> cut_thoughts("[THINK]Perhaps A? No.[/THINK]B")
    'B'
    """
    if finals := list(_CHANNEL_FINAL.finditer(text)):
        return text[finals[-1].end() :]
    if _CHANNEL.search(text):
        return ""
    if bare := _BARE_CHANNEL.match(text):
        return bare["answer"]
    if _BARE_ANALYSIS.match(text):
        return ""
    if "hinking" in text[:40]:
        text = _PLAIN_THOUGHT.sub("", text, count=1)
        if _PLAIN_OPEN.match(text):
            return ""
    text = _UNUSED.sub("", text)
    if "```" in text:
        text = _FENCED_THOUGHT.sub("", text)
    return _cut_marked(text)


def _cut_marked(text: str) -> str:
    kept, last, opened = list[str](), 0, ""
    for mark in _MARK.finditer(text):
        name = mark["name"].casefold()
        if mark["end"] or name.startswith("end"):
            if not opened:
                kept.clear()  # the opening mark was part of the prompt
            opened, last = "", mark.end()
        elif not opened:
            kept.append(text[last : mark.start()])
            opened, last = name, mark.end()
    return "".join(kept) + ("" if opened and opened not in _WEAK_NAMES else text[last:])


def make_plain(text: str) -> str:
    """Remove tags of HTML, and replace full-width and circled letters by plain letters."""
    return _MARKUP.sub("", text.translate(_WIDE))


def cut_turns(text: str, is_answer: Callable[[str], bool]) -> str:
    """Remove role names, special tokens and the turns of other speakers that a model invented.

    Parameters
    ----------
    is_answer
        Function that says whether the first line is an answer. If it is, later text that
        looks like another few-shot example is removed.
    """
    turns = (text[: mark.start()] for mark in _NEXT_TURN.finditer(text))
    turn = next(filter(_bare, turns), text)
    lines = turn.strip().split("\n", 1)
    is_brief = len(lines) == 2 and len(lines[0]) <= _BRIEF
    if is_brief and _NEXT_EXAMPLE.match(lines[1]) and is_answer(lines[0]):
        turn = lines[0]
    return _bare(turn)


def _bare(turn: str) -> str:
    turn = _TOKENS.sub("", _ROLE.sub("", turn.strip(), count=1))
    return _ROLE.sub("", turn.strip(), count=1).strip()
