"""Install Label Studio in a separate environment; start, find and stop a server on this machine.

Label Studio pins its libraries so strictly (for example ``openai < 2``) that it cannot share this project's
environment. Its database needs hundreds of migrations, so every server copies a prepared empty database. Each
server has a folder with its data and the files of an `oversight.harness.platform.ServerFolder`. Its state
file contains the admin's password and token.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from oversight.harness import ConfigError, LabelStudioError
from oversight.harness.distribution import require
from oversight.harness.output import say
from oversight.harness.platform import (
    ServerFolder,
    cache_dir,
    data_dir,
    hold_start_lock,
    is_alive,
    is_free,
    repair_rights,
    repair_tree,
)

VERSION = "1.23.2"
DATABASE = "label_studio.sqlite3"
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_KEPT = {"HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "TZ"}


def require_client() -> None:
    """Check that the client library of Label Studio is installed.

    Raises
    ------
    ConfigError
        If the extra ``labelling`` is not installed.
    """
    require("label_studio_sdk", "labelling on a Label Studio server", "labelling")


def find_home() -> Path:
    """Return the directory of Label Studio's environment and of its empty database."""
    folder = cache_dir() / "label-studio"
    folder.mkdir(exist_ok=True)
    return folder


def make_environment() -> Path:
    """Return the Python interpreter of Label Studio's environment, installed on first use (0.8 GB).

    Raises
    ------
    LabelStudioError
        If the installer fails.
    """
    folder = find_home() / VERSION
    folder.mkdir(exist_ok=True)
    python = folder / "env" / "bin" / "python"
    with hold_start_lock(folder):
        if not (folder / "installed").exists():
            # Remove files left by an interrupted installation.
            shutil.rmtree(folder / "env", ignore_errors=True)
            _tell(f"Installing Label Studio {VERSION} in {folder / 'env'} (0.8 GB, only this once) …")
            for command in _install_commands(folder / "env"):
                run_command(command, dict(os.environ), "Label Studio could not be installed", _INSTALL_HINT)
            (folder / "installed").touch()
    return python


def make_template() -> Path:
    """Return a database with Label Studio's empty tables, created on first use."""
    python = make_environment()
    folder = find_home() / VERSION
    with hold_start_lock(folder):
        if not (folder / "migrated").exists():
            shutil.rmtree(folder / "template", ignore_errors=True)
            (folder / "template").mkdir()
            _tell("Creating Label Studio's tables (about a minute, only this once) …")
            command = [str(python), "-m", "label_studio.server", "version"]
            where = {"LABEL_STUDIO_BASE_DATA_DIR": str(folder / "template")}
            run_command(command, make_clean_environment(where), "Label Studio's tables could not be created")
            (folder / "migrated").touch()
    return folder / "template" / DATABASE


def make_clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return a server's environment variables, without any API keys from the caller's environment.

    The result contains `extra`. It also contains variables that turn telemetry off, and a few of the caller's
    variables, for example ``PATH``.
    """
    kept = {n: v for n, v in os.environ.items() if n in _KEPT or n.startswith("LC_")}
    quiet = {
        "COLLECT_ANALYTICS": "false",
        "FRONTEND_SENTRY_DSN": "",
        "LATEST_VERSION_CHECK": "false",
        "PYTHONWARNINGS": "ignore",
        "SENTRY_DSN": "",
    }
    return {**kept, **quiet, **extra}


_INSTALL_HINT = " (check that pip or uv can reach the package index)"


def _install_commands(target: Path) -> list[list[str]]:
    """Return the commands that create the environment, with uv if available because it is faster."""
    python, requirements = str(target / "bin" / "python"), str(_REQUIREMENTS)
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv:
        make = [uv, "venv", "--quiet", "--python", sys.executable, str(target)]
        return [make, [uv, "pip", "install", "--quiet", "--python", python, "-r", requirements]]
    if importlib.util.find_spec("venv") is None:
        raise LabelStudioError("installing Label Studio needs uv, or Python's venv module (python3-venv)")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    return [[sys.executable, "-m", "venv", str(target)], [*pip, "-r", requirements]]


def run_command(command: list[str], env: dict[str, str], failure: str, hint: str = "") -> None:
    """Run a fixed command without a shell and wait for its end.

    Raises
    ------
    LabelStudioError
        If the command fails; the message contains the last line of its output.
    """
    done = subprocess.run(  # noqa: S603
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise LabelStudioError(f"{failure}: {lines[-1].strip()}{hint}")


def _tell(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        say(text)


ADMIN = "admin@oversight.invalid"
MAIN = "main"
_QUIET_SERVER = (
    "import logging; logging.getLogger('django.server').addFilter(lambda record: False); "
    "from label_studio.server import main; main()"
)
"""Code that runs the server without logging requests, because addresses may contain an invitation token."""
_RESET = (
    "import os, sys; sys.argv.append('--password=' + os.environ.pop('NEW_PASSWORD')); "
    "from label_studio.server import main; main()"
)
"""Code of a command that reads the password from its environment, because anybody can list command lines."""


@dataclass(frozen=True, slots=True)
class LabelStudioServer:
    """A running server.

    Attributes
    ----------
    folder
        Folder of the server's data, log and state.
    url
        Address on which the server listens: ``http://127.0.0.1:PORT``.
    pid
        Process id.
    admin
        The admin's e-mail address; password and token are only in ``server.json``.
    public_url
        Address for people on other machines, through a proxy; empty without a proxy.
    """

    folder: str
    url: str
    pid: int
    admin: str
    token: str = field(repr=False)
    password: str = field(repr=False)
    public_url: str = ""

    @property
    def port(self) -> int:
        """Port that the server listens on."""
        return urlsplit(self.url).port or 0

    @property
    def public(self) -> dict[str, object]:
        """All fields except secrets, with the paths of the log and of the file that holds the secrets."""
        shown = {name: value for name, value in asdict(self).items() if name not in ("token", "password")}
        files = _open_folder("", Path(self.folder))
        return {**shown, "secrets": str(files.state_file), "log": str(files.log)}


def start_server(
    name: str = MAIN,
    port: int = 0,
    *,
    folder: Path | None = None,
    public_url: str = "",
) -> LabelStudioServer:
    """Start a server, or return the running one; concurrent calls return the same server.

    The first call on a machine installs Label Studio and creates its tables.

    Parameters
    ----------
    name
        Name of the server; servers with different names share nothing.
    port
        Port on the loopback interface; 0 takes the port that was used last, or any free port.
    folder
        Folder for the server's data; by default a folder called `name` in the user's data directory.
    public_url
        Address for people on other machines: ``https://`` and the name of a TLS proxy on this machine; empty
        if there is no proxy.

    Raises
    ------
    ConfigError
        If the public address does not begin with ``https://``.
        If the client library is not installed, the port is taken, or the server runs on another port.
    LabelStudioError
        If the server could not be installed, or did not start.
    """
    if not 0 <= port <= 65535:
        raise ConfigError(f"the port must be between 0 and 65535, not {port}")
    address = urlsplit(public_url)
    if public_url and (address.scheme != "https" or not address.hostname or address.path.strip("/")):
        raise ConfigError(
            f"--public-url must be https://HOST without a path, is {public_url!r}: plain http exposes "
            "passwords"
        )
    require_client()
    files = _open_folder(name, folder)
    files.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    repair_tree(files.path)
    with hold_start_lock(files.path):
        if not is_alive(files.path):
            _launch(files, port, public_url=public_url.rstrip("/"))
        server = _wait_ready(files)
    if port not in (0, server.port):
        raise ConfigError(
            f"this server already runs on port {server.port}: use that port, or stop the server first with "
            "oversight server stop label-studio"
        )
    return server


def stop_server(name: str = MAIN, *, folder: Path | None = None) -> bool:
    """Stop a server and wait for its end; its data remain. Returns whether it was running."""
    files = _open_folder(name, folder)
    if not files.path.is_dir():
        return False
    with hold_start_lock(files.path):
        return files.stop()


def find_server(name: str = MAIN, *, folder: Path | None = None) -> LabelStudioServer | None:
    """Return the server called `name` if it is running, otherwise None."""
    files = _open_folder(name, folder)
    return files.read_state() if files.path.is_dir() and is_alive(files.path) else None


def list_servers() -> list[LabelStudioServer]:
    """Return all running servers of this project."""
    folders = sorted(path for path in find_servers().glob("*") if path.is_dir())
    found = [find_server(path.name) for path in folders]
    return [server for server in found if server is not None]


def reset_password(server: LabelStudioServer, email: str, password: str) -> None:
    """Change an account's password with the server's own command.

    Raises
    ------
    LabelStudioError
        If the command fails.
    """
    command = [str(make_environment()), "-c", _RESET, "reset_password", f"--username={email}"]
    told = {"LABEL_STUDIO_BASE_DATA_DIR": str(Path(server.folder) / "data"), "NEW_PASSWORD": password}
    run_command(command, make_clean_environment(told), f"{email} got no new password")


def find_servers() -> Path:
    """Return the directory with the data of all servers."""
    return data_dir() / "label-studio"


def _find_folder(name: str) -> Path:
    """Return the folder of a server's data.

    Older versions kept the data in the cache directory. If the server is stopped, this function moves such
    data to the data directory. If the server runs, its folder in the cache is returned.
    """
    place, before = find_servers() / name, cache_dir() / "label-studio" / "servers" / name
    if name and not place.exists() and before.is_dir():
        if is_alive(before):
            return before
        place.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.move(before, place)
    return place


def _open_folder(name: str, folder: Path | None) -> ServerFolder[LabelStudioServer]:
    return ServerFolder(
        path=folder or _find_folder(name),
        kind=LabelStudioServer,
        program="Label Studio",
        product="Label Studio",
        failure=LabelStudioError,
        deadline=180.0,
    )


def _launch(files: ServerFolder[LabelStudioServer], port: int, *, public_url: str) -> None:
    python, last, data = make_environment(), files.read_state(), files.path / "data"
    if not port:
        port = last.port if last and is_free(last.port) else _any_free_port()
    elif not is_free(port):
        raise ConfigError(f"port {port} is taken: choose another with --port, or leave it out")
    server = LabelStudioServer(
        folder=str(files.path),
        url=f"http://127.0.0.1:{port}",
        pid=0,
        admin=ADMIN,
        token=last.token if last else secrets.token_hex(20),
        password=last.password if last else secrets.token_urlsafe(12),
        public_url=public_url,
    )
    if not (data / DATABASE).exists():
        data.mkdir(mode=0o700, exist_ok=True)
        shutil.copyfile(make_template(), data / f"{DATABASE}.part")
        (data / f"{DATABASE}.part").replace(data / DATABASE)
        repair_rights(data / DATABASE)
    environ = make_clean_environment(
        {
            "LABEL_STUDIO_BASE_DATA_DIR": str(data),
            "LABEL_STUDIO_USERNAME": server.admin,
            "LABEL_STUDIO_PASSWORD": server.password,
            "LABEL_STUDIO_USER_TOKEN": server.token,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
            "SSRF_PROTECTION_ENABLED": "true",
            **_make_public(public_url),
        }
    )
    serve = [str(python), "-c", _QUIET_SERVER, "start", "--no-browser"]
    # Listen on the loopback only, because the default is every interface.
    where = ["--internal-host", "127.0.0.1", "--port", str(port)]
    # Write the state without a process id first, so that the id of an earlier process is removed.
    files.write_state(server)
    files.write_state(replace(server, pid=files.spawn([*serve, *where], environ, cwd=files.path)))


def _make_public(url: str) -> dict[str, str]:
    """Return the settings that make a server reachable at `url` through a proxy; empty without a `url`."""
    if not url:
        return {}
    secure = {"CSRF_COOKIE_SECURE": "1", "SESSION_COOKIE_SECURE": "1"}
    return {"LABEL_STUDIO_HOST": url, "CSRF_TRUSTED_ORIGINS": url, **secure}


def _wait_ready(files: ServerFolder[LabelStudioServer]) -> LabelStudioServer:
    server = files.read_state()
    if server is None:
        raise LabelStudioError(
            f"{files.state_file} is damaged: stop the server's process by hand, then remove this file"
        )

    def look() -> LabelStudioServer | None:
        # If the port is taken, the server uses the next one, which only its log shows.
        if b"Trying to start at" in files.log.read_bytes():
            files.stop()
            raise ConfigError(
                f"port {server.port} was taken meanwhile: start again, or choose another with --port"
            )
        return server if _answers(server) else None

    return files.wait_ready(look)


def _answers(server: LabelStudioServer) -> bool:
    """Whether the server answers and recognises the token; another program on its port would not."""
    import httpx

    with contextlib.suppress(httpx.HTTPError, ValueError):
        reply = httpx.get(
            f"{server.url}/api/current-user/whoami",
            headers={"Authorization": f"Token {server.token}"},
            timeout=10.0,
            trust_env=False,
        )
        return reply.status_code == httpx.codes.OK and reply.json().get("email") == server.admin
    return False


def _any_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
