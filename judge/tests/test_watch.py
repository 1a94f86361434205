"""Watch mode: what counts as a save, driven without a terminal, and the whole of it in tmux as a learner uses it."""

import argparse
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import psutil
import pytest

from judge import saves as saving
from judge import watch as watching
from judge.runner import Judge
from judge.sandbox import Cancelled
from judge.steps import ROOT, load
from judge.terminal import Keyboard
from judge.tests.test_run import SAMPLE, make_checkout
from judge.verdict import Status
from judge.zoo import specimens

PATIENCE = 120  # seconds to wait for a text: no test is about speed
SOLUTION = (ROOT / "solutions/06_engine/minisgl/engine/sample.py").read_text()
LOOP = SOLUTION.replace("        if args.temperatures is None:\n", "        while True: pass\n        if args.temperatures is None:\n", 1)
assert LOOP != SOLUTION
tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end, f"waited for {what() if callable(what) else what}"
        time.sleep(0.05)
    return found


def rename_save(file: Path, text: str) -> None:
    """Save as many editors do: write beside it, then rename."""
    beside = file.with_name(f".{file.name}.swp")
    beside.write_text(text)
    os.replace(beside, file)


@pytest.fixture(scope="module")
def wrong():
    registry = load()
    specimen = next(s for s in specimens(registry.exercises[190]) if s.path.stem == "top-p-before-top-k")
    return specimen.sources(registry)["engine/sample.py"].decode(), specimen.header["says"]


# What counts as a change.


def test_the_fingerprint_is_about_the_text_alone(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    before = saving.fingerprint([file])
    os.utime(file, (1, 1))
    assert saving.fingerprint([file]) == before
    rename_save(file, "x = 1\n")
    assert saving.fingerprint([file]) == before
    seen = {before}
    for change in (lambda: file.write_text("x = 2\n"), lambda: file.write_text(""), file.unlink):
        change()
        seen.add(saving.fingerprint([file]))
    assert len(seen) == 4
    os.mkfifo(file)  # never opened: it would block
    assert saving.fingerprint([file]) in seen


def test_two_files_do_not_run_into_each_other(tmp_path):
    one, two = tmp_path / "1.py", tmp_path / "2.py"
    one.write_text("ab"), two.write_text("c")
    before = saving.fingerprint([one, two])
    one.write_text("a"), two.write_text("bc")
    assert saving.fingerprint([one, two]) != before


@pytest.mark.parametrize("start", [None, "", "def f(\n"], ids=["gone", "truncated", "half"])
def test_half_a_save_is_waited_for(tmp_path, start):
    file, naps = tmp_path / "a.py", []
    if start is not None:
        file.write_text(start)

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 3:
            rename_save(file, "x = 1\n")

    found = saving.settle([file], sleep)
    assert len(naps) == 3 and found == saving.fingerprint([file])


def test_a_syntax_error_is_judged_after_a_moment(tmp_path):
    file, naps = tmp_path / "a.py", []
    file.write_text("def f(\n")
    assert saving.settle([file], naps.append) == saving.fingerprint([file])
    assert sum(naps) == pytest.approx(saving.PATIENCE_SECONDS)
    file.write_text("x = 1\n")
    saving.settle([file], lambda _: pytest.fail("a whole file needs no wait"))


def heard(saves, folder):
    """Wait for an event that comes from a file, and not from the regular look."""
    until(lambda: _drained(saves.pipe), "the watcher to run")
    (folder / "a.py").write_text("x = 2\n")
    return until(lambda: _drained(saves.pipe), "an event")


def _drained(pipe):
    try:
        return os.read(pipe, 4096)
    except BlockingIOError:
        return b""


def test_the_system_tells_of_a_save(tmp_path):
    saves = saving.Saves(tmp_path)
    try:
        assert heard(saves, tmp_path)
    finally:
        saves.close()


def test_polling_takes_over_where_the_watcher_fails(tmp_path, monkeypatch):
    import watchfiles

    calls, real = [], watchfiles.watch

    def watch(*paths, **options):
        calls.append(options["force_polling"])
        if not options["force_polling"]:
            raise OSError("OS file watch limit reached.")
        yield from real(*paths, **options)

    monkeypatch.setattr(watchfiles, "watch", watch)
    monkeypatch.setattr(saving, "polling_reason", lambda folder: None)
    saves = saving.Saves(tmp_path)
    try:
        assert heard(saves, tmp_path)
        until(lambda: calls == [False, True], "polling")
        assert heard(saves, tmp_path)
        assert "watch limit" in saves.polling
    finally:
        saves.close()


def test_a_folder_that_comes_later(tmp_path):
    saves = saving.Saves(tmp_path / "later")
    try:
        assert until(lambda: saves.polling, "the failure")
        (tmp_path / "later").mkdir()
        assert heard(saves, tmp_path / "later")
    finally:
        saves.close()


def test_where_polling_is_needed(tmp_path, monkeypatch):
    from collections import namedtuple

    mount = namedtuple("mount", "mountpoint fstype")
    monkeypatch.delenv("WATCHFILES_FORCE_POLLING", raising=False)
    monkeypatch.setattr(saving.platform, "release", lambda: "6.1.0")
    mounts = [mount("/", "overlay"), mount(str(tmp_path / "share"), "nfs4")]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: mounts)
    assert saving.polling_reason(tmp_path / "disk") is None
    assert "nfs4" in saving.polling_reason(tmp_path / "share" / "chapters")
    monkeypatch.setattr(saving.platform, "release", lambda: "5.15.90.1-microsoft-standard-WSL2")
    assert "WSL" in saving.polling_reason(tmp_path)
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", "1")
    assert "WATCHFILES_FORCE_POLLING" in saving.polling_reason(tmp_path)


def test_the_files_of_the_base_are_watched_too(registry):
    exercise = registry.exercises[190]
    alone = saving.watched_files(registry, exercise, "reference")
    assert [file.name for file in alone] == ["sample.py"]
    mine = saving.watched_files(registry, exercise, "mine")
    assert set(alone) < set(mine) and all("06_engine" not in str(file) for file in mine if file not in alone)


# What is shown, and the terminal.


@pytest.mark.parametrize("width", [20, 40, 80, 100, 200])
def test_keys_stay_whole(width):
    parts = ["watching a.py", *watching.KEYS]
    lines = watching.lay_out(parts, width)
    assert all(len(line) <= width for line in lines) and " ".join(" ".join(lines).split()) == " ".join(parts)
    assert all(any(key in line for line in lines) for key in watching.KEYS)
    assert (len(lines) == 1) == (width >= 80)


def test_the_terminal_is_restored_after_an_exception():
    ours, theirs = pty.openpty()
    try:
        before = termios.tcgetattr(theirs)
        with pytest.raises(ZeroDivisionError), Keyboard(theirs) as keyboard:
            assert termios.tcgetattr(theirs) != before
            os.write(ours, b"h")
            assert keyboard.read() == "h"
            os.write(ours, b"\x1b[A")  # an arrow
            assert keyboard.read() == ""
            1 / 0  # noqa: B018
        assert termios.tcgetattr(theirs) == before
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_cancelled_verdict_leaves_the_judge_whole(registry):
    asked = []

    def cancelled():
        asked.append(time.monotonic())
        return 3 <= len(asked) <= 5

    judge = Judge(registry, seed=7, cancelled=cancelled)
    exercise = registry.exercises[190]
    try:
        with pytest.raises(Cancelled):
            judge.judge(exercise, overrides={"engine/sample.py": LOOP.encode()})
        pid = judge.sandbox.child.process.pid
        assert [p for p in judge.sandbox._descendants() if p.pid not in judge.sandbox.own] == []
        while len(asked) < 5:  # before a probe, too
            with pytest.raises(Cancelled):
                judge.judge(exercise, solution=True)
        assert judge.judge(exercise, solution=True).status is Status.PASS
        assert judge.sandbox.child.process.pid == pid
    finally:
        judge.close()


@pytest.mark.parametrize("how", ["at the end", "gone for a moment", "cancelled"])
def test_a_verdict_on_an_older_text_is_not_shown(registry, tmp_path, monkeypatch, how):
    """Whatever happens to the file while it is judged: the verdict that is shown is about the last text."""
    file = tmp_path / "sample.py"
    file.write_text("x = 1\n")
    judged, shown = [], []

    class Saves:
        polling = None
        pipe, end = os.pipe()

    class Slow:
        def judge(self, exercise, base):
            judged.append(file.read_text())
            os.write(Saves.end, b".")
            if len(judged) > 1:
                assert not session.cancelled()  # a look without a change ends nothing
            elif how == "at the end":
                file.write_text("x = 2\n")
            elif how == "gone for a moment":
                file.unlink()
                assert session.cancelled()
                file.write_text("x = 1\n")
                raise Cancelled
            else:
                rename_save(file, "x = 2\n")
                assert session.cancelled()
                raise Cancelled
            return judged[-1]

        def blame(self, exercise, verdict, base):
            pass

    def show(session, verdict):
        shown.append(verdict)
        session.keys.append("q")

    monkeypatch.setattr(watching, "watched_files", lambda *_: [file])
    monkeypatch.setattr(watching.Session, "_show", show)
    options = argparse.Namespace(base="reference", verbose=False)
    session = watching.Session(registry, registry.exercises[190], options, Saves, None, {})
    session.judge = Slow()
    assert session.loop() == 0
    assert shown == [file.read_text()] and len(judged) == 2


@pytest.mark.parametrize("arguments", [["--solution"], ["--format", "json"], ["--hint"], ["--file", "x.py"]])
def test_watching_goes_with_the_learners_own_files(arguments):
    command = [sys.executable, str(ROOT / "judge" / "run.py"), "190", "--watch", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and arguments[0] in done.stderr and "--watch" in done.stderr


@pytest.mark.parametrize(("goals", "target"), [(["watch", "190"], "190"), (["watch"], "next"), (["watch", "6"], "6"), (["watch", "N=190"], "190")])
def test_make(goals, target):
    done = subprocess.run(["make", "-n", *goals], cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"judge/run.py {target} --watch" in done.stdout


# As a learner uses it.


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return make_checkout(tmp_path_factory.mktemp("watched"))


@pytest.fixture
def fresh(checkout):
    shutil.copyfile(ROOT / SAMPLE, checkout / SAMPLE)
    shutil.rmtree(checkout / ".progress", ignore_errors=True)
    return checkout


def recorded(checkout, number="190"):
    return json.loads((checkout / ".progress" / "progress.json").read_text())["exercises"][number]


class Terminal:
    """bash in tmux, with all that is printed in a log, and a TMPDIR that shows what is left."""

    def __init__(self, checkout: Path, width: int = 100, **environment: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tty-")).resolve()
        self.scratch, self.log, self.file = self.folder / "scratch", self.folder / "log", checkout / SAMPLE
        self.scratch.mkdir(), self.log.touch()
        variables = {"TMPDIR": str(self.scratch), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "PS1": "prompt> ", "HISTFILE": "", **environment}
        pairs = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", "50", "-c", str(checkout), *pairs, "bash --norc --noprofile")
        self.tmux("pipe-pane", f"cat >> {self.log}")
        self.command(f"stty -a > {self.folder}/before")

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self.folder / "s"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def start(self, arguments: str = "190 --watch") -> None:
        self.keys(f"{sys.executable} judge/run.py {arguments}", "Enter")

    def command(self, line: str) -> None:
        """Run a command in the shell, and wait until it has ended: the prompt is back."""
        number = self.count("ended ")
        self.keys(f"{line}; echo en''ded $?", "Enter")
        self.wait("ended ", number + 1)

    @property
    def printed(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.log.read_text(errors="replace"))

    def count(self, text: str) -> int:
        return self.printed.count(text)

    def wait(self, text: str, times: int = 1) -> None:
        until(lambda: self.count(text) >= times, lambda: f"'{text}', {times} times:\n{self.tmux('capture-pane', '-p')}")

    @property
    def screen(self) -> str:
        return " ".join(self.tmux("capture-pane", "-p").split())

    def children(self) -> list[psutil.Process]:
        return psutil.Process(int(self.tmux("display-message", "-p", "#{pane_pid}"))).children(recursive=True)

    def assert_left_alone(self, code: int) -> None:
        """The shell is back as it was before, with this exit code, and nothing of the judge is left."""
        self.keys("echo co''de $?", "Enter")
        self.wait("code ")
        assert f"code {code}" in self.printed
        self.command(f"stty -a > {self.folder}/after")
        assert (self.folder / "after").read_text() == (self.folder / "before").read_text()
        assert self.tmux("display-message", "-p", "#{cursor_flag}").strip() == "1"
        until(lambda: not self.children() and not list(self.scratch.glob("judge-*")), lambda: f"the end of {self.children()}", 30)
        left = subprocess.run(["pgrep", "-f", str(self.scratch / "judge-")], capture_output=True, text=True, check=False).stdout.split()
        assert left == []

    def close(self) -> None:
        if (self.folder / "s").exists():
            subprocess.run(["tmux", "-S", str(self.folder / "s"), "kill-server"], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def terminal(fresh):
    opened = []

    def open_one(**options):
        opened.append(Terminal(fresh, **options))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@tmux
def test_a_learners_session(fresh, terminal, wrong):
    source, says = wrong
    screen = terminal()
    screen.start()
    screen.wait("NOT ATTEMPTED  190")
    screen.wait("q quit")
    assert "nothing written yet" in screen.screen and f"watching {SAMPLE}" in screen.screen

    screen.file.write_text(SOLUTION)
    screen.wait("PASS  190")
    screen.wait("press n for 191")
    assert (recorded(fresh)["status"], recorded(fresh)["attempts"]) == ("pass", 1)

    rename_save(screen.file, source)
    screen.wait("FAIL  190")
    screen.wait("press h for a hint")
    assert says[:40] in screen.screen and "PASS" not in screen.screen
    assert (recorded(fresh)["status"], recorded(fresh)["attempts"]) == ("fail", 2)

    for key, text in (("h", "hint 1 of 3"), ("d", "@@ -"), ("l", "to come")):
        statuses = screen.count("q quit")
        screen.keys(key)
        screen.wait(text)
        screen.wait("q quit", statuses + 1)
    assert "python judge/run.py" not in screen.screen  # the keys are the commands here

    judging = screen.count("judging 190")
    screen.file.write_text(LOOP)
    screen.wait("judging 190", judging + 1)
    probe = until(lambda: [p for p in screen.children() if _busy(p)], "the loop")
    rename_save(screen.file, SOLUTION)
    screen.wait("PASS  190", 2)
    screen.wait("press n for 191", 2)
    assert not any(p.is_running() for p in probe)
    assert "TIMEOUT" not in screen.printed
    assert (recorded(fresh)["status"], recorded(fresh)["attempts"]) == ("pass", 3)

    judging = screen.count("judging")
    os.utime(screen.file)
    rename_save(screen.file, SOLUTION)
    time.sleep(1.5)
    screen.keys("h")
    screen.wait("hint 2 of 3")
    assert screen.count("judging") == judging

    screen.keys("r")
    screen.wait("PASS  190", 3)

    screen.file.unlink()
    screen.wait("expected the file")
    screen.file.write_text(SOLUTION)
    screen.wait("PASS  190", 4)

    screen.keys("n")
    screen.wait("NOT ATTEMPTED  191")
    screen.wait("watching chapters/06_engine/minisgl/engine/engine.py")
    screen.keys("q")
    screen.assert_left_alone(0)


def _busy(process: psutil.Process) -> bool:
    """A fork of the child that has computed for a while: the learner's code."""
    try:
        forked = process.cmdline() == process.parent().cmdline() and any(word.endswith("child.py") for word in process.cmdline())
        return forked and process.cpu_times().user > 0.2
    except psutil.Error:
        return False


@tmux
def test_control_c_twice_while_a_loop_runs(terminal):
    screen = terminal()
    screen.file.write_text(LOOP)
    screen.start()
    screen.wait("judging 190")
    until(lambda: [p for p in screen.children() if _busy(p)], "the loop")
    screen.keys("C-c")
    screen.keys("C-c")
    screen.wait("interrupted")
    screen.assert_left_alone(130)
    assert "Traceback" not in screen.printed and "FAIL" not in screen.printed


@tmux
def test_control_c_and_term_while_it_waits(terminal):
    screen = terminal()
    screen.start()
    screen.wait("q quit")
    screen.keys("C-c")
    screen.wait("interrupted")
    screen.assert_left_alone(130)

    screen = terminal()
    screen.start("next --watch")
    screen.wait("q quit")
    next(p for p in screen.children() if "--watch" in p.cmdline()).send_signal(signal.SIGTERM)
    until(lambda: not screen.children(), "its end")
    screen.assert_left_alone(143)


@tmux
def test_a_closed_terminal(terminal):
    screen = terminal()
    screen.start()
    screen.wait("q quit")
    running = screen.children()
    assert running and list(screen.scratch.glob("judge-*"))
    screen.tmux("kill-server")
    until(lambda: not any(p.is_running() for p in running) and not list(screen.scratch.glob("judge-*")), "the end of all")


@tmux
def test_suspended_and_resumed(terminal):
    screen = terminal()
    screen.file.write_text(SOLUTION)
    screen.start()
    screen.wait("q quit")
    screen.keys("C-z")
    screen.wait("Stopped")
    screen.command(f"stty -a > {screen.folder}/stopped")
    assert "-icanon" not in (screen.folder / "stopped").read_text()
    screen.keys("fg", "Enter")
    screen.wait("PASS  190", 2)
    screen.keys("q")
    screen.assert_left_alone(0)


@tmux
def test_a_narrow_terminal_without_colour(terminal):
    screen = terminal(width=40, NO_COLOR="1")
    screen.file.write_text(SOLUTION)
    screen.start()
    screen.wait("PASS  190")
    screen.wait("q quit")
    assert all(key in screen.printed for key in watching.KEYS)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", screen.log.read_text(errors="replace").split("judging", 1)[1])
    screen.keys("q")
    screen.assert_left_alone(0)


def test_without_a_terminal(fresh, tmp_path, wrong):
    file, log = fresh / SAMPLE, tmp_path / "log"
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path)}
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, str(fresh / "judge" / "run.py"), "190", "--watch"], env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
        )  # fmt: skip
    try:
        until(lambda: "Ctrl-C ends it" in log.read_text(), log.read_text)
        assert log.read_text().startswith("NOT ATTEMPTED  190")
        file.write_text(SOLUTION)
        until(lambda: "run.py 191 --watch" in log.read_text(), log.read_text)
        rename_save(file, wrong[0])
        until(lambda: "FAIL  190" in log.read_text() and log.read_text().count("Ctrl-C ends it") == 3, log.read_text)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
    text = log.read_text()
    assert "\x1b" not in text and "q quit" not in text and "press" not in text and "interrupted" in text
    assert list(tmp_path.glob("judge-*")) == []
