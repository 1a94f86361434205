"""The judge against its floor: how long a cold verdict takes, and the light commands.

python benchmarks/verdict.py [--rounds N]

The floor is `python -c "import torch"`; both are run alternately and compared by their medians. The light commands are timed alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN = str(ROOT / "judge" / "run.py")


def seconds(command: list[str], code: int = 0) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout.decode()}{done.stderr.decode()}")
    return time.perf_counter() - start


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--rounds", type=int, default=11)
    rounds = p.parse_args().rounds
    floor_command = [sys.executable, "-c", "import torch"]
    cold_command = [sys.executable, RUN, "190", "--solution"]
    seconds(floor_command), seconds(cold_command)  # files into the page cache, the oracle's answers into its own
    floors, colds = [], []
    for _ in range(rounds):
        floors.append(seconds(floor_command))
        colds.append(seconds(cold_command))
    floor, cold = statistics.median(floors), statistics.median(colds)
    print(f"cores {os.cpu_count()}, rounds {rounds}")
    print(f"import torch            {floor:6.2f} s   ({min(floors):.2f} to {max(floors):.2f})")
    print(f"cold verdict on 190     {cold:6.2f} s   ({min(colds):.2f} to {max(colds):.2f})   {cold / floor:.2f} x the floor")
    for arguments in (["--list"], ["190", "--hint"], ["--help"]):
        times = [seconds([sys.executable, RUN, *arguments]) for _ in range(rounds)]
        print(f"{' '.join(arguments):<22}  {statistics.median(times):6.2f} s")


if __name__ == "__main__":
    main()
