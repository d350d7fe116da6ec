"""Find turns of phrase that readers must read twice: `python -m tests.house.prose [PATH ...]`.

The rules are those of "How we write" in CONTRIBUTING.md. Texts are docstrings, comments, messages, help
texts, paragraphs of Markdown and names of tests. `make check` fails if any rule finds a text that is not
listed in `EXCEPTIONS`.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("harness", "protocols", "agents", "benchmarks", "docs", "tests")
LONGEST_SENTENCE = 45
MESSAGE_CALLS = ("say", "print", "show", "warn")

START = r"(?:^|(?<=[.;:!] ))"
RULES = {
    "a relative clause is the subject": START + r"(?:What|Who|Whoever|Whatever|Whose|Where) [a-z][^?]*$",
    "'is there' for 'exists'": r"\b(?:is|are|was|were) there\b(?! (?:a|an|no|any|one|to)\b)",
    "an amount without a number": r"\bso many\b|\bso much\b(?! that)",
    "'told' without an actor": r"\b(?:is|are|was|were) told\b",
    "'of its own' for 'separate'": r"\b(?:in|by|with|has|have|gets?) (?:an? )?\w+ of (?:its|their) own\b",
    "'too' at the end": r", too\b",
    "an old word": r"\b(?:dear(?:er|est)?|mend(?:s|ed|ing)?|anew|lone|woven|crew|standstill|whence|thereof"
    r"|therein|wherever|whereof|thereby|hear of|heard of|knows of|knows no)\b",
    "'as far as' for 'if'": r"\bas far as\b",
    "'nothing but' for 'only'": r"\bnothing but\b",
    "a thing that 'stands' somewhere": r"\bstands? (?:in|on|at|before|beside|twice|behind|after|alone)\b",
    "'once a' for 'once per'": r"\bonce (?:a|an) (?!\b(?:new|first)\b)[a-z]+,",
    "a fragment without its noun": r"^(?:Of|As|Those) (?!a |an |the |all |soon|long)[^,:]*[.;]$"
    r"|^The same(?: (?:of|for|with|as)\b|[.;])",
    "an adverb without an object": r"\bas ever\b|\beach its own\b",
}
EXAMPLE = re.compile(r"^\s*>>>|\S  +\S|[│├└]|^\s*(?:examples?:\s*)?oversight ")
"""Lines of a docstring that are no sentences: examples, columns, trees."""
TEST_RULE = "the name of a test is a question"
TEST_NAME = re.compile(r"^test_(?:what|who|how|why)_")
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("agents/workflow.py", "'of its own' for 'separate'"): "programs of searches are stored with this text",
}


@dataclass(frozen=True, slots=True)
class Text:
    """One text and its place; `line` counts from 1."""

    path: Path
    line: int
    kind: str
    words: str


def read_literal(node: ast.expr) -> str:
    """Text of a string; a replaced part of an f-string becomes "x"."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return ""


def read_call(node: ast.Call, path: Path) -> Iterator[Text]:
    """Messages given to an exception or printed, and help texts of options."""
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name[:1].isupper() or name in MESSAGE_CALLS:
        for argument in node.args:
            yield Text(path, node.lineno, "message", read_literal(argument))
    for keyword in node.keywords:
        if keyword.arg in {"help", "description", "title"}:
            yield Text(path, node.lineno, "help", read_literal(keyword.value))


def read_python(path: Path) -> Iterator[Text]:
    """Texts of a Python file."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            line = getattr(node, "lineno", 1)
            yield Text(path, line, "docstring", ast.get_docstring(node) or "")
            yield Text(path, line, "test", getattr(node, "name", ""))
        if isinstance(node, ast.Module | ast.ClassDef):
            for named, text in pairwise(node.body):
                if isinstance(named, ast.Assign | ast.AnnAssign) and isinstance(text, ast.Expr):
                    yield Text(path, text.lineno, "constant", read_literal(text.value))
        if isinstance(node, ast.Call):
            yield from read_call(node, path)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(path, token.start[0], "comment", token.string.lstrip("# "))


def read_markdown(path: Path) -> Iterator[Text]:
    """Paragraphs of a Markdown file without code and tables."""
    source = re.sub(
        r"```.*?```", lambda m: "\n" * m[0].count("\n"), path.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", source):
        if not paragraph.lstrip().startswith(("|", "#", "<!--")):
            yield Text(path, line, "document", re.sub(r"`[^`]*`", "x", paragraph))
        line += paragraph.count("\n")


def find_faults(text: Text) -> Iterator[str]:
    """Names of the rules that a text breaks."""
    if text.kind == "test":
        if TEST_NAME.search(text.words):
            yield TEST_RULE
        return
    for paragraph in re.split(r"\n\s*\n", text.words):
        words = " ".join(line for line in paragraph.split("\n") if not EXAMPLE.search(line))
        for sentence in re.split(r"(?<=[.;:?!]) ", " ".join(words.split())):
            yield from (rule for rule, pattern in RULES.items() if re.search(pattern, sentence))
            if len(sentence.split()) > LONGEST_SENTENCE and " = " not in sentence:
                yield f"a sentence of more than {LONGEST_SENTENCE} words"


def list_files(paths: list[str]) -> Iterator[Path]:
    """Python and Markdown files below the given paths, or of the whole project."""
    for start in paths or [*FOLDERS, "README.md", "CONTRIBUTING.md"]:
        place = ROOT / start
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        yield from (path for path in files if path.suffix in {".py", ".md"} and "_build" not in path.parts)


def main(paths: list[str]) -> int:
    """Print every fault; return 1 if there are any."""
    faults = 0
    for path in list_files(paths):
        for text in read_python(path) if path.suffix == ".py" else read_markdown(path):
            for rule in find_faults(text):
                if (str(path.relative_to(ROOT)), rule) not in EXCEPTIONS:
                    faults += 1
                    print(f"{path.relative_to(ROOT)}:{text.line}: {text.kind}: {rule}")
    print(f"{faults} turns of phrase to rewrite")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
