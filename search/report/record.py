"""What `search.json` says about a whole search: configuration, data, budget, provenance."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from search.errors import UsageError


@dataclass(frozen=True)
class SearchRecord:
    """One search as exported; only `name` is required, so that unfinished searches load too.

    `seconds` holds device time by part, summed over trials; `wall_seconds` is the time from first start to last
    end. `metrics` describes what was logged; older exports do not say, and logged the paper's three. `reduced_sizes`
    names what is smaller than in the paper; empty when nothing is. `imported` says where another program's search came
    from; empty for our own. `references`: of each further reference of HMS by name, its `baselines` and `subjects`.
    `materials`: what trials were measured on, with digests.
    """

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    created: str | None = None
    exported: str | None = None
    finished: bool = False
    planned_trials: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    reduced_sizes: dict[str, Any] = field(default_factory=dict)
    hms_baselines: dict[str, float | None] = field(default_factory=dict)
    noise_ceiling: dict[str, Any] = field(default_factory=dict)
    human_self_similarity: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    rerun_command: str | None = None
    mixed_precision: bool = False
    wall_seconds: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    mse_windows_digest: str | None = None
    algorithm: str | None = None
    replicates: int = 1
    stopping: dict[str, Any] = field(default_factory=dict)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    imported: dict[str, Any] = field(default_factory=dict)
    references: dict[str, dict[str, Any]] = field(default_factory=dict)
    materials: dict[str, Any] = field(default_factory=dict)

    @property
    def stopping_rule(self) -> str:
        """`stability`, `threshold` or `none`; empty when the export does not say."""
        return str(self.stopping.get("rule") or "")

    @property
    def random_sample(self) -> bool:
        """True when the networks are a random sample of the space: `rand`, and no rule that discards some."""
        return self.algorithm == "rand" and self.stopping_rule != "threshold"

    def rerun_trial(self, tid: int | str) -> str:
        """The command that trains one trial's network again; empty for an imported search, which cannot be trained."""
        return "" if self.imported else f"hms rerun {self.name} --tid {tid}"

    @property
    def legacy_matching(self) -> bool:
        """True when object matching was drawn and counted as the published code does, so that its values compare."""
        matching = (self.config.get("metrics") or {}).get("matching") or {}
        return bool(matching.get("mode") == "legacy")

    @property
    def data_name(self) -> str:
        """The name of the video, as the export or else the configuration has it; empty when neither does."""
        return str(self.data.get("name") or (self.config.get("data") or {}).get("dataset") or "")

    @property
    def data_frames(self) -> dict[str, int]:
        """Frames of each split that has any: `train`, `val`, `test`."""
        splits = self.data.get("splits") or {}
        return {name: int(split["frames"]) for name, split in splits.items() if split.get("frames")}

    @property
    def chance_accuracy(self) -> float:
        """Accuracy of guessing in object matching, 1 / gallery; the paper's gallery of 50 when none is given."""
        gallery = _find(self.config, "gallery") or _find(self.reduced_sizes, "gallery")
        return 1.0 / gallery if isinstance(gallery, int | float) and gallery > 0 else 1.0 / 50


def read_record(path: Path) -> SearchRecord:
    """Read `search.json`; keys that this version does not know are ignored.

    Raises `UsageError` when the file is missing, is not JSON, or has no name.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"No exported search in {path.parent}: {path.name} is missing. Run `hms export NAME` first."
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}). Run `hms export NAME` again.") from None
    if not isinstance(raw, dict) or not raw.get("name"):
        raise UsageError(f"{path} does not describe a search: it has no name. Run `hms export NAME` again.")
    known = {item.name for item in fields(SearchRecord)}
    return SearchRecord(**{key: value for key, value in raw.items() if key in known and value is not None})


def _find(tree: Any, key: str) -> Any:
    """The first value stored under `key` at any depth of nested dicts."""
    if not isinstance(tree, dict):
        return None
    if key in tree:
        return tree[key]
    return next((found for found in (_find(value, key) for value in tree.values()) if found is not None), None)
