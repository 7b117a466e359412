"""Numbers of R's lme4 for simulated studies, to check `psychophysics.mixed_model` against.

python scripts/studies/mixed_model_reference.py --out tests/psychophysics/reference_models

needs Rscript and lme4 (Debian: apt-get install r-cran-lme4). Writes NAME.csv, the simulated answers, and lme4.json: the
fixed effects, their covariance, the SDs and correlations of the random effects and Laplace's log-likelihood.
"""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np

from psychophysics.simulated_responses import Effects, simulate_trials

R_PROGRAM = Path(__file__).with_suffix(".R")
STUDIES = {
    "two_conditions": (Effects({"none": 0.45, "natural": 0.8}, condition_by_unit=0.5), 40, 18, 5, 1),
    "three_conditions": (Effects({"none": 0.3, "natural": 0.6, "synthetic": 0.9}, condition_by_unit=0.6), 30, 15, 5, 1),
    "six_networks": (
        Effects({"none": 0.4, "natural": 0.8}, participant=0.6, condition_by_unit=0.9, network=0.7),
        30,
        24,
        5,
        6,
    ),
}


def main() -> None:
    """Simulate, fit in R, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the CSV files and lme4.json")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    found = {}
    for seed, (name, (effects, participants, units, sets, networks)) in enumerate(STUDIES.items()):
        rng = np.random.default_rng(seed)
        trials = simulate_trials(effects, rng, participants=participants, units=units, sets=sets, networks=networks)
        columns = ["participant", "condition", *(["network"] if networks > 1 else []), "unit", "image_set", "correct"]
        trials[columns].astype({"correct": int}).to_csv(out / f"{name}.csv", index=False, lineterminator="\n")
        done = subprocess.run(
            ["Rscript", str(R_PROGRAM), str(out / f"{name}.csv")], check=True, capture_output=True, text=True
        )
        found[name] = json.loads(done.stdout)
    (out / "lme4.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
