"""Ready-made steps for programs; like `oversight.agents.workflow`, this file's text runs in the sandbox.

Each is one call, or a few, of ``task.ask``; solutions and feedback go in and come out as texts.
"""

from typing import Any

from oversight.agents.workflow import Record, vote


async def custom(task: Any, text: str, instruction: str) -> str:
    """Follow an instruction about a text, freely."""
    inputs = [task] if text == task.text else [Record("input", text)]
    (response,) = await task.ask(["response"], inputs, instruction, name="custom")
    return str(response)


async def answer_generate(task: Any) -> tuple[str, str]:
    """Think step by step and answer: thought, answer."""
    instruction = "Think step by step, then give a concise answer without explanation."
    thought, answer = await task.ask(["thought", "answer"], [task], instruction, name="generator")
    return str(thought), str(answer)


async def sc_ensemble(task: Any, solutions: list[str], order: Any = None) -> str:
    """Let the model name the solution that the others agree with most, and return it."""
    order = list(range(len(solutions))) if order is None else order
    letters = [chr(65 + j) for j in range(len(order))]
    shown = [Record("solution " + letter, solutions[j]) for letter, j in zip(letters, order)]  # noqa: B905  not on every tier
    _, chosen = await task.ask(
        ["thought", "solution"],
        [task, *shown],
        "Several solutions are given. Compare them and name the one that agrees most with the others, "
        "by its letter alone.",
        name="ensemble",
        choices={"solution": letters},
    )
    letter = str(chosen).strip().upper()[:1]
    return solutions[order[letters.index(letter)]] if letter in letters else str(vote(solutions))


async def md_ensemble(task: Any, solutions: list[str], votes: int = 5) -> str:
    """Vote over `sc_ensemble` calls that show the solutions in turned orders."""
    n = len(solutions)
    picked = []
    for shift in range(votes):
        order = [(j + shift) % n for j in range(n)]
        picked.append(await sc_ensemble(task, solutions, order))
    return str(vote(picked))


async def review(task: Any, solution: str) -> tuple[bool, str]:
    """Judge a solution: accepted or not, and the feedback."""
    result, feedback = await task.ask(
        ["result", "feedback"],
        [task, Record("solution", solution)],
        "Review the solution. Reject it only if you are more than 95 % sure that it is wrong, and say "
        "what to mend.",
        name="reviewer",
        choices={"result": ["accept", "reject"]},
    )
    return "reject" not in str(result).lower(), str(feedback)


async def revise(task: Any, solution: str, feedback: str) -> str:
    """Rewrite a solution as feedback demands."""
    (revised,) = await task.ask(
        ["solution"],
        [task, Record("solution", solution), Record("feedback", feedback)],
        "Revise the solution so that it meets the feedback, and end with the answer.",
        name="reviser",
    )
    return str(revised)


async def format_answer(task: Any, solution: str) -> str:
    """Reduce a solution to the option that it chose."""
    (answer,) = await task.ask(
        ["answer"],
        [task, Record("solution", solution)],
        "State the option that this solution chose, and nothing else.",
        name="formatter",
    )
    return str(answer)


async def programmer(task: Any, analysis: str = "", tries: int = 3) -> tuple[str, str]:
    """Have a program written and run until it works: code, what it printed."""
    code, output = "", ""
    if not task.code_allowed:
        return code, "running code is not allowed in this study"
    notes = [Record("analysis", analysis)] if analysis else []
    for turn in range(tries):
        (written,) = await task.ask(
            ["code"],
            [task, *notes],
            "Write Python that computes the answer and prints it. Use only the language itself and the "
            "modules math, re, json, random, itertools and collections; no input, no files.",
            name="programmer",
            turn=turn,
        )
        code = str(written)
        output = await task.run_code(code)
        if not output.startswith("error:"):
            break
        notes = [*notes, Record("code", code), Record("error", output)]
    return code, output
