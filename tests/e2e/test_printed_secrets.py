"""Links, codes and passwords that a command exists to print are printed whole; nothing else holds them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from oversight.protocols.collect import start_server, stop_server
from oversight.protocols.collect.label_studio.server.own_server import LabelStudioServer
from tests.answer_page.conftest import draw

pytestmark = pytest.mark.slow

# The key of a local model can be any word, even one that occurs in the pages' addresses.
COMMAND = """\
import sys
from oversight.harness.cli.main import main
from oversight.harness.output import keep_secret
keep_secret("127.0.0.1")
sys.exit(main())
"""
PRINTS = {
    "view": "view --port 0 --json",
    "serve": "label serve --port 0",
    "codes": "label codes --all --port {port}",
    "of one": "label codes ana --port {port}",
}


def find_secrets(text: str) -> list[str]:
    """The personal codes in a text, or the token of the viewer's link."""
    return re.findall(r'(?:\b\w{5}-){3}\w{5}\b|(?<=pass=)[^\s"]+', text)


def find_url(text: str) -> str:
    found = re.search(r"http://[\w.]+:\d+", text)
    assert found is not None, text
    return found[0]


def opens(url: str, secret: str) -> bool:
    """Whether the page at an address takes a secret, as a browser gives it."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("POST", "/session", headers={"Authorization": f"Bearer {secret}"})
    status = connection.getresponse().status
    connection.close()
    return status in (200, 204)


def start(words: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COMMAND, *words.split()]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)


def call(words: str, folder: Path) -> tuple[str, str]:
    """Run a command to its end; return what it printed and what it logged."""
    process = start(words, folder)
    printed, log = process.communicate(timeout=120)
    assert process.returncode == 0, log
    return printed, log


def read_files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("words", PRINTS.values(), ids=PRINTS)
@pytest.mark.parametrize("form", ["", " --json"], ids=["text", "json"])
def test_printed_secret_opens_the_page_and_stands_nowhere_else(words: str, form: str, tmp_path: Path) -> None:
    draw(folder := tmp_path / "study")
    is_server = "--port 0" in words
    server = start((words if is_server else "label serve --port 0") + form, folder)
    assert server.stdout is not None
    try:
        printed, log = server.stdout.readline(), ""
        while not (secrets := find_secrets(printed)):
            line = server.stdout.readline()
            assert line, server.communicate()
            printed += line
        if not is_server:
            printed, log = call(words.format(port=urlsplit(find_url(printed)).port) + form, folder)
            secrets = find_secrets(printed)
        assert secrets
        assert all(opens(find_url(printed), secret) for secret in secrets)
        call("label audit", folder)
    finally:
        server.send_signal(signal.SIGTERM)
        log += server.communicate(timeout=60)[1]
    secrets += [secret.replace("-", "") for secret in secrets]
    assert not [s for s in secrets if s in log or s.encode() in read_files(folder)]


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudioServer]:
    """A Label Studio server that commands of this machine find."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERSIGHT_DATA", str(tmp_path_factory.mktemp("servers")))
        for variable in ("LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY"):
            patch.delenv(variable, raising=False)
        yield start_server()
        stop_server()


@pytest.mark.parametrize("form", ["", " --json"], ids=["text", "json"])
def test_printed_accounts_let_in(form: str, tmp_path: Path, own_server: LabelStudioServer) -> None:
    draw(folder := tmp_path / f"study{len(form)}")
    settings = folder / "study.toml"
    settings.write_text(settings.read_text().replace("ward", f"ward{len(form)}"))
    log, passwords = "", list[str]()
    for words in ("experts invite", "experts password ana"):
        printed, told = call(words + form, folder)
        log += told
        email = re.findall(r'ana[^\s"|]*@experts.invalid', printed)[-1]
        before = r'password": "' if form else r"with the password |with (?!the)"
        passwords += re.findall(rf"(?:{before})([\w-]{{8,}})", printed)
        number = -1 if words.endswith("ana") else 0
        assert logs_in(own_server, email, passwords[number])
    assert len(passwords) == 4
    call("label audit", folder)
    assert not [word for word in passwords if word in log or word.encode() in read_files(folder)]


def logs_in(server: LabelStudioServer, email: str, password: str) -> bool:
    with httpx.Client(base_url=server.url, trust_env=False) as browser:
        token = (
            browser.get("/user/login/").text.partition('csrfmiddlewaretoken" value="')[2].partition('"')[0]
        )
        fields = {"email": email, "password": password, "csrfmiddlewaretoken": token}
        headers = {"Referer": f"{server.url}/user/login/"}
        return browser.post("/user/login/", data=fields, headers=headers).status_code == 302
