"""Whether bfloat16 would do for evaluation: each network's RDM, HMS and object matching in both precisions.

    python scripts/benchmarks/evaluation_precision.py WEIGHTS [WEIGHTS ...] [--config configs/quickstart.yaml]
                                                      [--set KEY=VALUE ...] [--threads N]

For each network: Spearman correlation of the two RDMs, both HMS, both accuracies, and of how many trials the answer is
right in one precision and wrong in the other. bfloat16 may be used only where the RDMs correlate above 0.9999 and no
answer changes. It is torch's autocast around the evaluation: convolutions in bfloat16, everything else in float32.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from metrics.matching import IMAGES_AT_ONCE, MatchingResult, StreamedMatching
from metrics.rdm import upper
from metrics.registry import METRICS
from prednet.features import top_layer_features
from prednet.model import PredNet
from search.config_reader import load_config
from search.evaluate import measured
from search.materials import Materials, prepare
from search.paths import data_root
from search.score import read_network


def main() -> None:
    """Print one line a network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--config", type=Path, default=Path("configs/quickstart.yaml"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    materials = prepare(load_config(options.config, options.set), data_root())
    print(f"{'RDM Spearman':>13}{'HMS fp32':>10}{'bf16':>9}{'accuracy fp32':>15}{'bf16':>7}{'changed':>9}  network")
    for weights in options.weights:
        print(compare(read_network(weights, None), materials), weights, flush=True)


def compare(model: PredNet, materials: Materials) -> str:
    """The numbers of one network."""
    exact = measured(METRICS["hms"], model, materials)
    matched = match(model, materials)
    with torch.autocast(next(model.parameters()).device.type, torch.bfloat16):
        rough = measured(METRICS["hms"], model, materials)
        rough_matched = match(model, materials)
    rdm, rough_rdm = exact.get("rdm"), rough.get("rdm")
    similar = "" if rdm is None or rough_rdm is None else f"{spearmanr(upper(rdm), upper(rough_rdm))[0]:.7f}"
    changed = ""
    if matched.correct is not None and rough_matched.correct is not None:
        changed = f"{np.sum(matched.correct != rough_matched.correct)}/{len(matched.correct)}"
    scores = f"{similar:>13}{shown(exact['hms']):>10}{shown(rough['hms']):>9}"
    return f"{scores}{shown(matched.accuracy):>15}{shown(rough_matched.accuracy):>7}{changed:>9} "


def match(model: PredNet, materials: Materials) -> MatchingResult:
    """Object matching, with the answer of each trial."""
    streamed = StreamedMatching(materials.trials)
    for start in range(0, len(streamed.images), IMAGES_AT_ONCE):
        images = materials.objects.images[streamed.images[start : start + IMAGES_AT_ONCE]]
        streamed.update(top_layer_features(model, images, materials.config.metrics.matching.frames))
    return streamed.result()


def shown(value: float | None) -> str:
    """Four digits, or a dash where a metric is undefined."""
    return "-" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    main()
