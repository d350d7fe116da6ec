"""The root command: a table of verbs, each loaded only when it is called.

Verbs of `protocols` and `agents` are named as strings, because this package must not import them. A
verb's module has ``add_arguments(parser)`` and ``run(args)``, which returns an exit code, or None for 0.

Examples
--------
::

    oversight --completion bash > ~/.local/share/bash-completion/completions/oversight
    oversight --completion zsh > ~/.zfunc/_oversight        (a folder of fpath)
    oversight --completion fish > ~/.config/fish/completions/oversight.fish
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from oversight.harness.cli.retired_options import RENAMED_VERBS, find_replacement, rename_verb
from oversight.harness.distribution import VERSION
from oversight.harness.errors import OversightError, Stopped, is_full
from oversight.harness.output import counted, did_you_mean, guarded_terminal, log_to_stderr
from oversight.harness.platform import stop_in_order
from oversight.harness.registry import load_module


class VerbParser(argparse.ArgumentParser):
    """Parser of a verb and of its sub-verbs, which suggests replacements for unknown options."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse all arguments; an unknown option ends the program, as `error` does."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            action = getattr(found, "action", None) or getattr(found, "verb", None) or ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._replace(str(action), unknown[0])}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message with a suggestion, and exit with code 2."""
        found = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        meant = did_you_mean(found[1], re.findall(r"[^\s',]+", found[2])) if found else ""
        super().error(message + meant)

    def _replace(self, action: str, option: str) -> str:
        """Return the replacement for an option that this action does not have."""
        verb, option = self.prog.removeprefix("oversight "), option.partition("=")[0]
        told = find_replacement(f"{verb} {action}", option) or find_replacement(verb, option)
        if told:
            return f"; this option was removed: {told}"
        known = list(_options(self))
        return (
            f"; {option} is an option of another action" if option in known else did_you_mean(option, known)
        )


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options of a parser and of its sub-verbs."""
    for action in parser._actions:  # noqa: SLF001  argparse offers no public access
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for sub in action.choices.values():
                yield from _options(sub)


if TYPE_CHECKING:
    from oversight.harness.config import Study


def _suggest() -> str:
    """Return the study's progress and the next command; empty without a study in this folder."""
    from oversight.harness.config import STUDY_FILE

    if not Path(STUDY_FILE).is_file():
        return ""
    from oversight.harness.config import read_study

    try:
        study = read_study(STUDY_FILE)
        return f"{study.study.name}: {_find_step(study)}\n\nAll verbs:  oversight --help\n"
    except OversightError as error:
        return f"oversight: {error}\n"


def _find_step(study: Study) -> str:
    from oversight.harness.store import Store, has_database

    panel = study.experts.is_panel
    if not has_database(study.store_url):
        if study.is_open:
            return "no model was run yet.\nNext: ask the models (oversight run), then oversight label route."
        return (
            "no question is drawn yet.\n"
            "Next: check the items (oversight items check), then draw (oversight label route)."
        )
    with Store(study.store_url) as store:
        asked = sum(store.count_asked(panel=panel).values())
        answered = sum(store.replies(panel=panel).count_replies().values())
        runs = store.count_rows("run")["run"]
    if not asked:
        return "no question is drawn yet.\nNext: draw them (oversight label route)."
    told = f"{answered} of {counted(asked, 'question')} answered, {counted(runs, 'model run')}"
    if not runs:
        step = "ask the models (oversight run)"
    elif answered < asked:
        number = "score" if study.is_open else "accuracy"
        look = (
            "for the agreement so far: oversight panel agree"
            if panel
            else f"for the {number} so far: oversight estimate"
        )
        step = f"get the remaining answers (oversight label status shows who is missing); {look}"
    elif panel:
        step = "oversight panel agree, then oversight panel certify and oversight panel parity"
    elif study.is_open:
        step = "oversight label route (it may draw more questions), then oversight estimate"
    else:
        step = "oversight estimate, then oversight compare or oversight view"
    return f"{told}.\nNext: {step}."


SHELLS = ("bash", "zsh", "fish")


# Skip the garbage collections at interpreter exit, because they cost CPU time and free nothing useful.
atexit.register(gc.freeze)

_TEXTS = {
    "init": "write a commented study.toml for a new study",
    "items": "check, export, remove or correct the items of a study",
    "label": "send questions to experts and collect their answers",
    "experts": "give experts accounts, measure their quality, record absences",
    "run": "ask models about the items",
    "predictions": "import model answers from another program, or export all answers",
    "estimate": "estimate the accuracy of every model, with intervals",
    "compare": "compare models; models that cannot be told apart share a rank",
    "gate": "test a model against a required accuracy in CI: pass, fail or undecided",
    "judge": "measure judges: accuracy, saved questions, and where their calibration holds",
    "plan": "compute how many questions an interval needs, or the interval from N questions",
    "panel": "measure agreement of annotators, and compare a model with them",
    "search": "search for a better workflow, measured by experts' answers",
    "view": "open the study's page in a browser: labels, estimates and items",
    "report": "write the study's page as one HTML file",
    "store": "copy, move, verify or upgrade the study's database",
    "server": "start or stop Label Studio or a small local model, or show its status",
    "doctor": "check this machine, the study and its endpoints",
    "demo": "run a complete example study on bundled case notes with a local model",
}
_FOLDERS = {
    **dict.fromkeys(["label", "experts", "server", "demo"], "oversight.protocols.cli"),
    "panel": "oversight.harness.cli.panel_verbs",
    "search": "oversight.agents.cli",
    "store": "oversight.harness.cli.database_verbs",
}
"""Verb → package of its module; the modules of other verbs are in ``oversight.harness.cli.verbs``."""
VERBS = {
    name: (f"{_FOLDERS.get(name, 'oversight.harness.cli.verbs')}.{name}", text)
    for name, text in _TEXTS.items()
}
"""Name of a verb → its module, and a short description."""

_USAGE = """\
oversight VERB [options]        oversight VERB --help explains a verb

Evaluate AI systems without ground truth, from experts' yes/no answers.

verbs:
{verbs}

oversight --completion bash|zsh|fish prints a shell completion script.

exit codes: 0 done, 1 the work failed, 2 the input is wrong (nothing was changed)
            gate: 0 pass, 1 fail, 3 undecided
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit code."""
    # A file opened later, such as the database, would get the closed stream's descriptor and thus the output.
    if sys.stdout is None or sys.stderr is None:
        print("oversight: standard output or standard error is closed", file=sys.stderr)  # noqa: T201  either
        return 2
    gc.set_threshold(20_000, 20, 20)
    if argv is None:  # the command was called as a program
        os.umask(0o077)  # new files are private, because answers may be about patients
        stop_in_order()
    with guarded_terminal():
        return _main(sys.argv[1:], gc.freeze) if argv is None else _main(list(argv))


def _main(words: list[str], loaded: Callable[[], None] = lambda: None) -> int:
    """Run a verb for `main`, and call `loaded` between loading the verb's module and running the verb."""
    if not words and (told := _suggest()):
        sys.stdout.write(told)
        return 0
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(_USAGE.format(verbs="\n".join(f"  {v:<12} {h}" for v, (_, h) in VERBS.items())))
        return 0
    if words[0] == "--version":
        sys.stdout.write(f"oversight {VERSION}\n")
        return 0
    former, words = rename_verb(words)
    if former:
        sys.stderr.write(f"oversight: {former} is now: oversight {RENAMED_VERBS[former]}\n")
    verb = words[0]
    if verb == "--completion":
        return _complete(" ".join(words[1:]))
    if verb not in VERBS:
        others = f"there are: {', '.join(VERBS)}{did_you_mean(verb, VERBS)}"
        sys.stderr.write(f"oversight: there is no verb {verb!r}; {others}\n")
        return 2
    return _call(verb, words[1:], loaded)


def _complete(shell: str) -> int:
    """Print the completion script for a shell. It is generated from one parser that contains all verbs."""
    if shell not in SHELLS:
        known = ", ".join(SHELLS)
        sys.stderr.write(f"oversight: --completion: name one of {known}, not {shell!r}\n")
        return 2
    import shtab

    parser = argparse.ArgumentParser(prog="oversight")
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--completion", choices=SHELLS, help="print the completion script for this shell")
    added = parser.add_subparsers(dest="verb")
    for name, (module, text) in VERBS.items():
        _fill_parser(added.add_parser(name, help=text), load_module(module))
    sys.stdout.write(str(shtab.complete(parser, shell=shell)) + "\n")
    return 0


def _call(verb: str, rest: list[str], loaded: Callable[[], None]) -> int:
    as_json = "--json" in rest
    try:
        module = _load(VERBS[verb][0], loaded)
        args = make_parser(verb, module).parse_args(rest)
        if getattr(args, "verbose", False):
            log_to_stderr()
        return _run(module, args)
    except OversightError as error:
        if as_json:
            import json

            sys.stdout.write(json.dumps({"error": str(error), "kind": type(error).__name__}) + "\n")
        sys.stderr.write(f"oversight: {error}\n")
        return error.exit_code
    except KeyboardInterrupt as stop:
        # All work has stopped, so ignore further signals.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        sys.stderr.write("\noversight: stopped; run the same command again to continue\n")
        return stop.exit_code if isinstance(stop, Stopped) else 130
    except BrokenPipeError as error:  # from a subprocess; a closed standard output is handled elsewhere
        sys.stderr.write(f"oversight: a pipe broke before the work was done: {error}\n")
        return 1
    except OSError as error:
        if not is_full(error):
            raise
        sys.stderr.write("oversight: the disk is full: the output is missing or incomplete\n")
        # Discard the remaining output, because the disk is full.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(module: ModuleType, args: argparse.Namespace) -> int:
    code = int(module.run(args) or 0)
    sys.stdout.flush()  # so that write errors are reported here, not at interpreter exit
    return code


def make_parser(verb: str, module: ModuleType) -> VerbParser:
    """Return the parser of a verb, given its module."""
    parser = VerbParser(
        prog=f"oversight {verb}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _fill_parser(parser, module)
    return parser


def _fill_parser(parser: argparse.ArgumentParser, module: ModuleType) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    module.add_arguments(parser)


def _load(name: str, loaded: Callable[[], None]) -> ModuleType:
    """Import a verb's module with the garbage collector off, because this is faster.

    Afterwards call `loaded`, which can exclude the imported objects from garbage collection for good.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return load_module(name)
    finally:
        loaded()
        if collects:
            gc.enable()


if __name__ == "__main__":
    sys.exit(main())
