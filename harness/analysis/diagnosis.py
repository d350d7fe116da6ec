"""Check this machine, a study, and the endpoints of the study's models."""

from __future__ import annotations

import importlib.util
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from oversight.harness.analysis.controls import read_gold
from oversight.harness.analysis.inputs import study_items, template_of
from oversight.harness.config import LOCAL_ENDPOINT, ModelSection, Study, read_study
from oversight.harness.distribution import VERSION, install_line
from oversight.harness.errors import OversightError
from oversight.harness.registry import load_module
from oversight.harness.store import Store
from oversight.harness.types import Finding

_EXTRAS = {
    "labelling": "label_studio_sdk",
    "openai": "openai",
    "workflows": "pydantic_monty",
    "frames": "pandas",
    "report": "matplotlib",
    "parquet": "pyarrow",
    "hub": "datasets",
    "local": "xllamacpp",
    "crowd": "crowdkit",
}


def diagnose(study_file: str) -> list[Finding]:
    """Check the machine, the sandbox, the study with its models, and the Label Studio server."""
    # loaded by name, because this package must not import the packages that use it
    labels: list[Finding] = load_module(
        "oversight.protocols.collect.label_studio.server.transport"
    ).check_server()
    sandbox: list[Finding] = load_module("oversight.agents.cli.sandbox_check").check_sandbox()
    return [*_machine(), *sandbox, *_study(study_file), *labels]


def _machine() -> list[Finding]:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    findings = [
        Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        Finding("oversight", "ok", VERSION),
        Finding("disk", "ok" if free > 0.5 else "wrong", f"{free:.1f} GiB free in this folder"),
    ]
    for extra, module in _EXTRAS.items():
        there = importlib.util.find_spec(module) is not None
        detail = "installed" if there else install_line(extra)
        findings.append(Finding(f"extra {extra!r}", "ok" if there else "missing", detail))
    return findings


def _study(file: str) -> list[Finding]:
    if not Path(file).exists():
        return [Finding("study", "missing", f"no {file} here; make one with: oversight init")]
    try:
        study = read_study(file)
    except OversightError as error:
        return [Finding("study", "wrong", str(error))]
    findings = [
        Finding("study", "ok", study.study.name),
        _try("items", lambda: f"{len(study_items(study))} items"),
        _try("prompt", lambda: f"{len(template_of(study).split())} words"),
        _try("store", lambda: _store(study)),
    ]
    if study.experts.gold:
        findings.append(_try("gold", lambda: f"{len(read_gold(study))} gold items"))
    return findings + [_try(f"model {n!r}", lambda n=n: _ask(study.model(n))) for n in study.models]  # type: ignore[misc]


def _try(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, "ok", look())
    except OversightError as error:
        return Finding(what, "wrong", str(error))


def _store(study: Study) -> str:
    path = study.path(study.study.store)
    if "://" not in study.study.store and not path.exists():
        return f"{path} does not exist yet and will be created"
    with Store(study.store_url) as store:
        return ", ".join(f"{n} {name}s" for name, n in store.count_rows().items())


def _ask(model: ModelSection) -> str:
    """Send one short question, which checks URL, key and model name together."""
    import asyncio

    from oversight.harness.llm import Request, make_model

    async def ask() -> str:
        client = make_model(model.model_copy(update={"timeout": 20.0}))
        try:
            return (await client.ask(Request.of("Say OK.", max_tokens=8))).text.strip()
        finally:
            await client.close()

    where = "the local server" if model.endpoint == LOCAL_ENDPOINT else model.where
    return f"{model.model} at {where} answers {asyncio.run(ask())[:30]!r}"
