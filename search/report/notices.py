"""What a reader must know before the numbers: an unfinished, small or adaptive sample, undefined metrics, baselines."""

from search.report.analysis import Analysis
from search.report.record import SearchRecord
from search.report.sample import ILLUSTRATIVE_BELOW

NAMED = 20
LOTTER_VAL_FRAMES = 154
"""Frames of the one drive of KITTI that Lotter et al. validate on."""


def notices(analysis: Analysis) -> list[str]:
    """Sentences, most important first; the search's own warnings last."""
    imported = analysis.tables.record.imported
    return [
        *([f"Imported from {imported['from']}: {'; '.join(imported['notes'])}."] if imported else []),
        *_sample_notices(analysis),
        *_network_notices(analysis),
        *_brain_notices(analysis),
        *_video_notices(analysis.tables.record),
        *analysis.tables.record.warnings,
    ]


def _sample_notices(analysis: Analysis) -> list[str]:
    record, account, rows = analysis.tables.record, analysis.account, analysis.defined.rows
    found = []
    if not record.finished:
        planned = f" of {account.planned_trials}" if account.planned_trials else ""
        found.append(
            f"This search is not finished: {account.done}{planned} trials are done. Networks that take long to train "
            "are still missing, so the sample is not yet the one that was planned."
        )
    if account.done == 0:
        found.append("No trial has finished yet: there is nothing to correlate.")
    elif rows.n == 0:
        found.append("No finished network has all of its metrics defined: there is nothing to correlate.")
    elif rows.n < ILLUSTRATIVE_BELOW:
        found.append(
            f"Correlations are illustrative: they rest on {_count(rows.n, rows.unit)}, fewer than {ILLUSTRATIVE_BELOW}."
        )
    if account.done and not analysis.random_sample:
        why = f"algorithm {record.algorithm}" if record.algorithm != "rand" else "a rule that discards networks"
        if record.random_sample:
            cut = analysis.defined.sample.cut_off
            why = f"the epoch rule, {analysis.rule.name}, leaves out {_count(cut, 'network')} that stopping ended early"
        found.append(
            f"Adaptive or truncated sample ({why}): descriptive only. No p-values and no comparison with the paper."
        )
    if record.replicates > 1:
        found.append(
            f"Each sampled point was trained with {record.replicates} seeds: correlations use point means, "
            "Table 1 counts networks."
        )
    return found


def _network_notices(analysis: Analysis) -> list[str]:
    found = []
    undefined = analysis.undefined
    if len(undefined):
        tids = sorted(set(undefined["tid"]))
        names = ", ".join(map(str, tids[:NAMED])) + (f" and {len(tids) - NAMED} more" if len(tids) > NAMED else "")
        found.append(
            f"{_count(len(tids), 'network')} with an undefined metric: {_word('trial', len(tids))} {names}. "
            "Tables 1 and 2 are given both ways."
        )
    failed = analysis.account.states.get("ERROR", 0)
    if failed:
        found.append(
            f"{_count(failed, 'trial')} ended in ERROR and {'is' if failed == 1 else 'are'} in no statistic; the table "
            "of trials has the messages."
        )
    unmoved = int(analysis.tables.finished["unmoved"].sum())
    if unmoved:
        found.append(
            f"{_count(unmoved, 'network')} never left the {analysis.stopping_metric} of the untrained state "
            "(flag `unmoved`): stable, not learned."
        )
    if analysis.tables.record.mixed_precision:
        devices = "; ".join(f"{name}: {_count(count, 'trial')}" for name, count in analysis.account.devices.items())
        found.append(f"Device classes or precisions were mixed within this search (--allow-mixed). {devices}.")
    return found


def _brain_notices(analysis: Analysis) -> list[str]:
    trivial = analysis.best_trivial
    hms = analysis.tables.finished["hms"].dropna()
    if trivial is None or hms.empty:
        return []
    name, value = trivial
    above = int((hms > value).sum())
    first = f"{above} of {_count(len(hms), 'network')} score above the best image baseline ({name}, {value:.3f})"
    beaten = analysis.beaten
    if beaten is None:
        return [f"{first}. These are point values; no interval of the difference is given."]
    missing = len(beaten.without_rdm)
    unknown = f" RDMs of {_count(missing, 'network')} above it are not there." if missing else ""
    return [
        f"{first}; {len(beaten.beating)} by more than the 95 % interval of the difference "
        f"(bootstrap over stimuli, paired).{unknown}"
    ]


def _video_notices(record: SearchRecord) -> list[str]:
    """KITTI's official validation split is one drive: `val_sequences` beyond its windows changes nothing."""
    split = (record.data.get("splits") or {}).get("val") or {}
    if record.data.get("kind") not in ("kitti", "hkl") or split.get("frames") != LOTTER_VAL_FRAMES:
        return []
    nt = int((record.config.get("training") or {}).get("nt", 10))
    windows = LOTTER_VAL_FRAMES - nt + 1
    given = (record.config.get("space") or {}).get("val_sequences") or {}
    values = (
        given.get("values") or [given["high"]] if given else [record.config.get("training", {}).get("val_sequences", 0)]
    )
    if max(values) <= windows:
        return []
    return [
        f"The validation split is the one of Lotter et al.: {LOTTER_VAL_FRAMES} frames, {windows} windows of {nt}. All "
        f"values of val_sequences above {windows} (up to {max(values)} here) mean the same."
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {_word(noun, number)}"


def _word(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"
