"""`hms export NAME --optuna URL`: the search as an Optuna study, for the dashboards and plots of Optuna.

A trial's value is its last one of the guide metric, in the metric's own direction; its intermediate values are those of
the evaluated epochs. DONE is COMPLETE, or PRUNED where a threshold discarded it; FAIL are undefined values, errors and
cancelled trials; a waiting trial is WAITING. Everything else stands in user attributes. Nothing flows back.
"""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from metrics.metric import Metric
from search.errors import UsageError
from search.hyperparameters import hyperparameter_values
from search.logged_metrics import as_described
from search.store import Document, State, Store

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

MARK = "hms_search"
KEPT = ("finish", "reason", "stable_epoch", "unmoved", "epochs_planned", "epochs_trained", "n_parameters", "device")


def mirror(store: Store, name: str, url: str) -> dict[str, int]:
    """Write the search to the study of its name at `url`, or bring that up to date; trials by Optuna's state.

    A study that holds what the search no longer says (a repeated trial, say) is made anew, and so is one whose times
    are those of earlier exports once its search is at its end.

    Raises:
        UsageError: no Optuna here; an address that it cannot use, or with a password; a study that somebody else made.
    """
    if importlib.util.find_spec("optuna") is None:
        raise UsageError("the package `optuna` is not installed: pip install 'hms-search[optuna]'")
    search = store.search(name)
    trials = frozen_trials(search, store.jobs(name), store)
    guide = _guide(search)
    with _errors_explained(url):
        storage = _storage(url)
        study = _study(storage, search, guide)
        have = {trial.user_attrs.get("tid"): trial for trial in storage.get_all_trials(study, deepcopy=False)}
        finished = all(trial.state.is_finished() for trial in trials.values())
        if any(tid not in trials or _outdated(was, trials[tid], finished) for tid, was in have.items()):
            storage.delete_study(study)
            study, have = _study(storage, search, guide), {}
        for tid, trial in trials.items():
            if tid not in have:
                storage.create_new_trial(study, template_trial=trial)
            elif not have[tid].state.is_finished():
                number = storage.get_trial_id_from_study_id_trial_number(study, have[tid].number)
                _bring_up_to_date(storage, number, have[tid], trial)
        storage.remove_session()
    states = [trial.state.name for trial in trials.values()]
    return {state: states.count(state) for state in dict.fromkeys(states)}


def frozen_trials(search: Document, jobs: Sequence[Document], store: Store) -> "dict[int, FrozenTrial]":
    """tid -> the trial as Optuna holds it, in the order of tids."""
    metrics, guide = as_described(search.get("metrics")), _guide(search)
    distributions = {key: _distribution(search, key, values) for key, values in hyperparameter_values(jobs).items()}
    curves: dict[int, dict[int, float]] = {job["tid"]: {} for job in jobs}
    for row in store.curves(search["exp_key"], list(curves), [guide.name]):
        if row.get(guide.name) is not None:
            curves[row["tid"]][row["epoch"]] = row[guide.name]
    return {
        job["tid"]: _frozen(job, search["created"], distributions, curves[job["tid"]], guide, metrics) for job in jobs
    }


def _frozen(
    job: Document,
    created: datetime,
    distributions: "Mapping[str, BaseDistribution]",
    curve: dict[int, float],
    guide: Metric,
    metrics: Mapping[str, Metric],
) -> "FrozenTrial":
    from optuna.trial import FrozenTrial, TrialState

    result, state = job.get("result") or {}, State(job["state"])
    value = result.get(guide.name) if state == State.DONE else None
    kind = {State.NEW: TrialState.WAITING, State.RUNNING: TrialState.RUNNING}.get(state, TrialState.FAIL)
    if value is not None:
        kind = TrialState.PRUNED if result.get("finish") == "below_threshold" else TrialState.COMPLETE
    began = next((attempt["began"] for attempt in job["history"] if attempt.get("began")), job.get("book_time"))
    ended = job.get("refresh_time") or began or created
    attributes: dict[str, Any] = {"tid": job["tid"], "hms_state": state.name}
    attributes |= {metric: result.get(metric) for metric in metrics} | {key: result.get(key) for key in KEPT}
    attributes |= {"seconds": sum((result.get("seconds") or {}).values()), "attempts": job.get("attempt", 0)}
    attributes |= {"point": job.get("point"), "replicate": job.get("replicate")}
    attributes["error"] = (job.get("error") or {}).get("message")
    params = {key: value for key, value in job["params"].items() if key in distributions and value is not None}
    return FrozenTrial(
        number=-1,  # the storage numbers trials in the order of their coming
        trial_id=-1,
        state=kind,
        value=None if value is None else float(value),
        datetime_start=None if kind == TrialState.WAITING else _local(began or ended),
        datetime_complete=_local(ended) if kind.is_finished() else None,
        params=params,
        distributions={key: distributions[key] for key in params},
        user_attrs={key: value for key, value in attributes.items() if value not in (None, "")},
        system_attrs={},
        intermediate_values=curve,
    )


def _distribution(search: Document, name: str, values: Sequence[Any]) -> "BaseDistribution":
    """As the space gives it, widened by values from outside: an imported search has none, a changed one had another."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    given = search["config"]["space"].get(name) or {}
    kind = given.get("kind")
    texts = any(isinstance(value, bool | str) for value in values)
    if kind == "choice" or texts:
        choices = list(given.get("values", ()))
        return CategoricalDistribution([*choices, *dict.fromkeys(value for value in values if value not in choices)])
    low, high = min([*values, given.get("low", values[0])]), max([*values, given.get("high", values[0])])
    if kind == "stepped" or (kind is None and all(isinstance(value, int) for value in values)):
        step = given.get("step", 1)
        whole = all((value - low) % step == 0 for value in (*values, high))
        return IntDistribution(int(low), int(high), step=step if whole else 1)
    return FloatDistribution(float(low), float(high), log=kind == "log_uniform")


def _guide(search: Document) -> Metric:
    metrics = as_described(search.get("metrics"))
    return metrics.get(search["config"]["search"].get("guide", "hms")) or next(iter(metrics.values()))


def _study(storage: "BaseStorage", search: Document, guide: Metric) -> int:
    """The study's id; made where there is none."""
    from optuna.study import StudyDirection

    name, mark = search["exp_key"], f"{search['exp_key']}, made {search['created'].isoformat()}"
    direction = StudyDirection.MAXIMIZE if guide.higher_is_better else StudyDirection.MINIMIZE
    if name not in [study.study_name for study in storage.get_all_studies()]:
        made = storage.create_new_study([direction], study_name=name)
        storage.set_study_user_attr(made, MARK, mark)
        storage.set_study_user_attr(made, "value", f"{guide.axis}, {guide.direction}")
        return made
    found = storage.get_study_id_from_name(name)
    if storage.get_study_user_attrs(found).get(MARK) != mark:
        raise UsageError(
            f"a study `{name}` is there that is not of this search: name another database, or remove it: "
            f"optuna delete-study --study-name {name} --storage URL"
        )
    return found


def _outdated(was: "FrozenTrial", trial: "FrozenTrial", finished: bool) -> bool:
    """Whether what stands in the study is wrong and cannot be mended there: Optuna lets no ended trial be changed."""
    if (was.params, was.distributions) != (trial.params, trial.distributions):
        return True
    if not was.state.is_finished():
        return False
    same = ("state", "values", "user_attrs", "intermediate_values")
    times = ("datetime_start", "datetime_complete") if finished else ()
    return any(getattr(was, name) != getattr(trial, name) for name in (*same, *times))


def _bring_up_to_date(storage: "BaseStorage", number: int, was: "FrozenTrial", trial: "FrozenTrial") -> None:
    for epoch, value in trial.intermediate_values.items():
        if was.intermediate_values.get(epoch) != value:
            storage.set_trial_intermediate_value(number, epoch, value)
    for key, value in trial.user_attrs.items():
        if was.user_attrs.get(key) != value:
            storage.set_trial_user_attr(number, key, value)
    if was.state != trial.state:
        storage.set_trial_state_values(number, trial.state, trial.values)


def _storage(url: str) -> "BaseStorage":
    import optuna
    from sqlalchemy.engine import make_url

    if make_url(url).password:
        raise UsageError("--optuna holds a password, and everybody on this machine can read command lines (ps)")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.storages.get_storage(url)


@contextmanager
def _errors_explained(url: str) -> Iterator[None]:
    from optuna.exceptions import OptunaError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (OptunaError, SQLAlchemyError, ImportError, RuntimeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        shown = "(not shown: it may hold a password)" if "@" in url else repr(url)
        raise UsageError(
            f"--optuna is {shown}, and Optuna cannot use it: {reason}. It looks like sqlite:///study.db"
        ) from None


def _local(moment: datetime) -> datetime:
    """Optuna's times have no zone and are local."""
    return moment.astimezone().replace(tzinfo=None)
