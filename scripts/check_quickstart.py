"""Check what a finished quickstart promises, from its exported tables.

    python scripts/check_quickstart.py [NAME]

Exits 1 with the reason when: fewer than 8 trials, fewer than 60 planned epochs, a metric missing at a fifth epoch,
fewer than two workers, or no trial that the stability rule ended 10 epochs before its plan.
"""

import sys

import pandas as pd

from search.paths import RunFolder, results_root


def main() -> None:
    """Read the tables of NAME (default: quickstart) and check them."""
    name = sys.argv[1] if len(sys.argv) > 1 else "quickstart"
    tables = RunFolder.of(results_root(), name).tables
    trials, epochs = pd.read_parquet(tables / "trials.parquet"), pd.read_parquet(tables / "epochs.parquet")
    saved = (trials["epochs_planned"] - trials["epochs_trained"]).where(trials["finish"] == "hms_stable")
    done = trials["state"] == "DONE"
    expected = {
        tid: list(range(0, int(trained) + 1, 5))
        for tid, trained in zip(trials["tid"], trials["epochs_trained"], strict=True)
    }
    checks = {
        "8 trials or more, all DONE": len(trials) >= 8 and bool(done.all()),
        "60 planned epochs or more each": bool((trials["epochs_planned"] >= 60).all()),
        "two workers took part": trials["owner"].nunique() >= 2,
        "every fifth epoch evaluated": all(
            sorted(epochs.loc[epochs["tid"] == t, "epoch"]) == e for t, e in expected.items()
        ),
        "all three metrics defined": not epochs[["hms", "mse", "accuracy"]].isna().to_numpy().any(),
        "the stability rule saved 10 epochs or more in a trial": bool((saved >= 10).any()),
    }
    for text, ok in checks.items():
        print(f"{'ok  ' if ok else 'FAIL'} {text}")
    print(f"epochs saved by trial: {saved.fillna(0).astype(int).tolist()}")
    if not all(checks.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
