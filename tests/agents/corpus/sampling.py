# ruff: noqa: E501  sources as models write them

"""Workflows that draw several answers and choose among them."""

SAMPLING = {
    "counter-vote": """
from collections import Counter

async def forward(task):
    answers = []
    for _ in range(3):
        thinking, answer = await task.ask(["thinking", "answer"], [task], "Think.", temperature=0.8)
        answers.append(answer.content)
    return Counter(answers).most_common(1)[0][0]
""",
    "dict-vote": """
async def forward(task):
    votes = {}
    for i in range(4):
        _, answer = await task.ask(["thinking", "answer"], [task], f"Attempt {i}.", temperature=1.0)
        votes[answer.content] = votes.get(answer.content, 0) + 1
    return max(votes.items(), key=lambda pair: pair[1])[0]
""",
    "early-stop": """
async def forward(task):
    seen = []
    for i in range(7):
        _, answer = await task.ask(["thinking", "answer"], temperature=0.9)
        if answer.content in seen:
            return answer
        seen.append(answer.content)
    return seen[-1]
""",
    "weighted-confidence": """
from collections import defaultdict

async def forward(task):
    weights = defaultdict(float)
    for _ in range(3):
        thinking, confidence, answer = await task.ask(
            ["thinking", "confidence", "answer"], [task], "Rate your confidence from 0 to 100."
        )
        digits = "".join(c for c in confidence.content if c.isdigit())
        weights[answer.content] += float(digits) if digits else 50.0
    return sorted(weights, key=weights.get, reverse=True)[0]
""",
    "gather-star": """
import asyncio

async def forward(task):
    results = await asyncio.gather(*(task.ask(["thinking", "answer"], temperature=0.7) for _ in range(5)))
    answers = [r[1] for r in results]
    return vote(answers)
""",
    "temperature-ladder": """
TEMPERATURES = [0.0, 0.3, 0.6, 0.9, 1.2]

async def forward(task):
    answers = [(await task.ask(["answer"], temperature=t))[0] for t in TEMPERATURES]
    return vote(answers)
""",
    "two-stage-filter": """
async def forward(task):
    drafts = [await task.ask(["thinking", "answer"], [task], "Draft.") for _ in range(3)]
    kept = []
    for thinking, answer in drafts:
        (verdict,) = await task.ask(
            ["verdict"], [task, thinking, answer], "Sound?", name="judge", choices={"verdict": ["yes", "no"]}
        )
        if verdict.content == "yes":
            kept.append(answer)
    return vote(kept or [d[1] for d in drafts])
""",
    "tie-break-call": """
from collections import Counter

async def forward(task):
    answers = [(await task.ask(["answer"], temperature=1.0))[0].content for _ in range(4)]
    ranked = Counter(answers).most_common()
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        (final,) = await task.ask(["answer"], [task, Record("candidates", ", ".join(answers))], "Break the tie.")
        return final
    return ranked[0][0]
""",
    "rotated-options": """
async def forward(task):
    votes = []
    for shift in range(len(task.options)):
        order = task.options[shift:] + task.options[:shift]
        shown = Record("options in another order", "; ".join(order))
        (answer,) = await task.ask(["answer"], [task, shown], "Answer by the letters of the question.")
        votes.append(str(answer))
    return max(set(votes), key=votes.count)
""",
    "elimination": """
async def forward(task):
    left = list(task.letters)
    while len(left) > 2:
        (worst,) = await task.ask(
            ["worst"], [task, Record("left", ", ".join(left))], "Which is least likely?", choices={"worst": left}
        )
        if worst.content in left:
            left.remove(worst.content)
        else:
            left.pop()
    (answer,) = await task.ask(["answer"], [task, Record("left", ", ".join(left))], "Choose.")
    return answer
""",
    "pairwise-tournament": """
import itertools

async def forward(task):
    wins = {letter: 0 for letter in task.letters}
    for a, b in itertools.combinations(task.letters, 2):
        (better,) = await task.ask(["better"], [task], f"{a} or {b}?", choices={"better": [a, b]})
        wins[better.content] = wins.get(better.content, 0) + 1
    return max(wins, key=lambda k: wins[k])
""",
    "mean-rank": """
import statistics

async def forward(task):
    ranks = {letter: [] for letter in task.letters}
    for _ in range(3):
        (order,) = await task.ask(["order"], [task], "Rank the letters, best first.")
        found = [c for c in order.content.upper() if c in ranks] or task.letters
        for place, letter in enumerate(found):
            ranks[letter].append(place)
    return min(ranks, key=lambda k: statistics.mean(ranks[k]) if ranks[k] else 99)
""",
    "shuffled-attempts": """
import random

async def forward(task):
    attempts = []
    for i in range(4):
        thinking, answer = await task.ask(["thinking", "answer"], [task], temperature=0.8, turn=i)
        attempts.append((thinking, answer))
    random.shuffle(attempts)
    inputs = [task] + [r for pair in attempts for r in pair]
    _, final = await task.ask(["thinking", "answer"], inputs, "Judge.", name="judge", temperature=0.1)
    return final
""",
    "nested-ensemble": """
import asyncio

async def _team(task, style):
    found = await asyncio.gather(*[task.ask(["answer"], [task], style, temperature=0.9) for _ in range(3)])
    return vote([f[0] for f in found])

async def forward(task):
    styles = ["Be quick.", "Be thorough.", "Doubt everything."]
    teams = await asyncio.gather(*[_team(task, style) for style in styles])
    return vote(teams)
""",
    "operators-ensemble": """
async def forward(task):
    solutions = []
    for _ in range(3):
        thought, answer = await answer_generate(task)
        solutions.append(thought + "\\n" + answer)
    best = await sc_ensemble(task, solutions)
    return await format_answer(task, best)
""",
}
