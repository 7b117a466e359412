"""What a participant's browser is told. Correct answers are in the worked example and in practice feedback only."""

from typing import Any

from psychophysics.config import StudyConfig
from psychophysics.server.images import Images
from psychophysics.server.progress import Progress, block, current_trial
from psychophysics.session_plan import PlannedTrial, SessionPlan

MINIMUM = {"width": 940, "height": 600}
PROLIFIC_URL = "https://app.prolific.com/submissions/complete?cc="
View = dict[str, Any]


def study_view(config: StudyConfig, *, rehearsal: bool) -> View:
    """The study before consent."""
    consent = config.consent
    return {
        "name": config.study.name,
        "title": config.study.title or config.study.name,
        "consent": {
            "version": consent.version,
            "title": consent.title,
            "paragraphs": list(consent.paragraphs),
            "contact": consent.contact,
        },
        "recruitment": {"kind": config.recruitment.kind},
        "minimum": MINIMUM,
        "rehearsal": rehearsal,
    }


def session_view(config: StudyConfig, plan: SessionPlan, progress: Progress, images: Images) -> View:
    """A session but for its token and code."""
    example = trial_view(plan.instruction, images)
    return {
        "has_references": plan.place.condition != "none",
        "example": {**example, "target_side": plan.instruction.target_side},
        "images": _preload(plan, progress, images),
        "state": state_view(config, plan, progress, images),
        "next_seq": progress.next_seq,
        "counts": {"practice": len(plan.practice(1)), "main": len(plan.main)},
    }


def state_view(config: StudyConfig, plan: SessionPlan, progress: Progress, images: Images) -> View:
    """Where the session is; the completion code once it is done."""
    trial = current_trial(plan, progress)
    return {
        "stage": progress.stage,
        "attempt": progress.attempt,
        "position": progress.position,
        "of": len(block(plan, progress)),
        "trial": trial_view(trial, images) if trial else None,
        "completion": completion(config) if progress.stage == "done" else None,
        "practice_failed": progress.practice_failed,
    }


def trial_view(trial: PlannedTrial, images: Images) -> View:
    """A trial as it is shown."""
    return {
        "id": trial.id,
        "references": [images.url(file) for file in trial.references],
        "base": images.url(trial.base),
        "left": images.url(trial.left),
        "right": images.url(trial.right),
    }


def completion(config: StudyConfig) -> dict[str, str | None]:
    """Code and address that end the participation at the recruiter's; None where there are none."""
    recruitment = config.recruitment
    url = recruitment.completion_url
    if recruitment.kind == "prolific" and not url:
        url = PROLIFIC_URL + recruitment.completion_code
    return {"code": recruitment.completion_code or None, "url": url or None}


def _preload(plan: SessionPlan, progress: Progress, images: Images) -> list[str]:
    """Pictures still to be shown, in the order of their first use; later practice blocks load when they come."""
    trials: list[PlannedTrial] = []
    if progress.stage == "instructions":
        trials = [plan.instruction, *plan.practice(1), *plan.main]
    elif progress.stage == "practice":
        trials = [*block(plan, progress)[progress.position :], *plan.main]
    elif progress.stage == "main":
        trials = list(plan.main[progress.position :])
    files = (file for trial in trials for file in (*trial.references, trial.base, trial.left, trial.right))
    return [images.url(file) for file in dict.fromkeys(files)]
