"""An ssh server on this machine, which the system's own ssh talks to."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Server:
    """A server of which the name `board` is known.

    Attributes:
        folder: The folder for temporary files of what runs there.
        programs: The folder of an ssh that knows the server.
        commands: The commands that it ran.
        processes: The numbers of their processes.
    """

    folder: Path
    programs: Path
    commands: list[str] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)

    async def run(self, process: Any) -> None:
        """Run a command in a shell, as sshd does."""
        self.commands.append(process.command or "")
        child = await asyncio.create_subprocess_shell(
            process.command or "true",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(self.folder), "PYTHONPATH": "", "PYTHONSAFEPATH": "1"},
            start_new_session=True,
        )
        self.processes.append(child.pid)
        assert child.stdin is not None
        feeding = asyncio.ensure_future(_copy(process.stdin, child.stdin, ends=True))
        await asyncio.gather(_copy(child.stdout, process.stdout), _copy(child.stderr, process.stderr))
        feeding.cancel()
        status = await child.wait()
        process.exit(status if status >= 0 else 128 - status)

    def send(self, number: int) -> None:
        """Send a signal to all that runs there."""
        for process in self.processes:
            os.killpg(process, number)


async def _copy(source: Any, target: Any, *, ends: bool = False) -> None:
    """Copy bytes as they come, and the end where it ends the target."""
    with suppress(OSError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
        if ends:
            target.close()


@pytest.fixture(scope="session")
def ssh_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    asyncssh = pytest.importorskip("asyncssh", reason="the server of these tests")
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("there is no ssh here")
    folder = tmp_path_factory.mktemp("ssh")
    (folder / "there").mkdir()
    server = Server(folder / "there", folder / "bin")
    key, host_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    key.write_private_key(folder / "key")
    (folder / "key").chmod(0o600)
    key.write_public_key(folder / "authorized")
    loop, started = asyncio.new_event_loop(), threading.Event()
    ports: list[int] = []

    async def serve() -> None:
        acceptor = await asyncssh.listen(
            "127.0.0.1", 0, server_host_keys=[host_key], authorized_client_keys=str(folder / "authorized"),
            process_factory=server.run, encoding=None,
        )  # fmt: skip
        ports.append(acceptor.get_port())
        started.set()

    def work() -> None:
        asyncio.set_event_loop(loop)
        loop.create_task(serve())
        loop.run_forever()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert started.wait(20)
    settings = (
        f"Host board stranger\n HostName 127.0.0.1\n Port {ports[0]}\n User me\n StrictHostKeyChecking no\n"
        f" UserKnownHostsFile {folder / 'known'}\n LogLevel ERROR\n IdentitiesOnly yes\nHost board\n"
        f" IdentityFile {folder / 'key'}\nHost stranger\n IdentityFile {folder / 'none'}\n"
    )
    (folder / "config").write_text(settings, "utf-8")
    server.programs.mkdir()
    program = server.programs / "ssh"
    program.write_text(f'#!/bin/sh\nexec {ssh} -F {folder / "config"} "$@"\n', "utf-8")
    program.chmod(0o755)
    yield server
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


@pytest.fixture
def ssh_server(ssh_of_session: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Return the server; whatever runs there ends with the test."""
    monkeypatch.setenv("PATH", f"{ssh_of_session.programs}{os.pathsep}{os.environ['PATH']}")
    ssh_of_session.commands.clear()
    ssh_of_session.processes.clear()
    yield ssh_of_session
    for process in ssh_of_session.processes:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
    shutil.rmtree(ssh_of_session.folder)
    ssh_of_session.folder.mkdir()
