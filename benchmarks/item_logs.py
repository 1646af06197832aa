"""Two runs on the same items, from logs as lm-evaluation-harness writes them: seconds and memory.

    python -m benchmarks.item_logs <folder> [--num-items 1000000] [--num-tasks 20]

Each item is a line of about 1,100 bytes with question, arguments, answers and hashes; its scores are made by rule.
Prints how large the files are, seconds of reading and pairing, of the table, and the highest memory of the process.
"""

import argparse
import json
import resource
import time
from pathlib import Path

from tiltmeter.jobs.upkeep.compare.log_settings import Logs
from tiltmeter.jobs.upkeep.compare.logs import find_logs
from tiltmeter.jobs.upkeep.compare.systems import systems_table


def line(number: int, acc: float) -> str:
    """Of one item."""
    question = f"{number}: " + "how many of them are there, and who said so? " * 9
    sample = {
        "doc_id": number,
        "doc": {"question": question, "template": f"template {number % 500}"},
        "target": "1",
        "arguments": {"gen_args_0": {"arg_0": question[:200], "arg_1": " yes"}},
        "resps": [[["-1.5", "False"]]],
        "filtered_resps": [["-1.5", "False"]],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"{number:064x}",
        "prompt_hash": f"{number + 1:064x}",
        "target_hash": f"{7:064x}",
        "acc": acc,
    }
    return json.dumps(sample)


def write(folder: Path, num_items: int, num_tasks: int) -> None:
    """Both runs: the first is right in every second item, the second also in every tenth of the others."""
    each = num_items // num_tasks
    for side in ("first", "second"):
        (folder / side).mkdir(parents=True, exist_ok=True)
        for task in range(num_tasks):
            path = folder / side / f"samples_task{task:02}_2026-11-22T10-00-00.000000.jsonl"
            right = [float(at % 2 == 0 or (side == "second" and at % 20 == task % 20)) for at in range(each)]
            path.write_text("".join(line(at, acc) + "\n" for at, acc in enumerate(right)))


def main() -> None:
    """Writes the logs if the folder has none, and compares them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--num-items", type=int, default=1_000_000)
    parser.add_argument("--num-tasks", type=int, default=20)
    parser.add_argument("--cluster")
    settings = parser.parse_args()
    if not settings.folder.exists():
        write(settings.folder, settings.num_items, settings.num_tasks)
    num_bytes = sum(path.stat().st_size for path in settings.folder.rglob("*.jsonl"))
    print(f"{num_bytes / 1e9:.2f} GB, {num_bytes / settings.num_items / 2:.0f} bytes an item")
    moments, cpu = [time.monotonic()], [time.process_time()]
    logs = Logs(str(settings.folder / "first"), str(settings.folder / "second"), cluster=settings.cluster)
    pairs = find_logs(logs).pairs
    for step in ("reading and pairing", "the table"):
        rows = systems_table(pairs, logs).to_pylist() if step == "the table" else []
        moments.append(time.monotonic())
        cpu.append(time.process_time())
        print(f"{step}: {moments[-1] - moments[-2]:.1f} s, {cpu[-1] - cpu[-2]:.1f} s of processors")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{len(rows)} rows, {sum(row['num_items'] for row in rows):,} items, {peak:.2f} GiB at most")


if __name__ == "__main__":
    main()
