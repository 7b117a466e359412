"""What participants' pages send: checked here, and never again behind."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST_EVENTS = 200
Text = Annotated[str, Field(max_length=5000)]
Identifier = Annotated[str, Field(min_length=1, max_length=100)]
Milliseconds = Annotated[float, Field(ge=0, lt=1e14)]
Question = Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]


def _not_zero(button: int) -> int:
    if button == 0:
        raise ValueError("buttons are -3, -2, -1 on the left and 1, 2, 3 on the right")
    return button


class Body(BaseModel):
    """An unknown key is an error, and so is a value that would have to be converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Recruiter(Body):
    """What Prolific's link says about a participant."""

    prolific_pid: Identifier
    study_id: Identifier
    session_id: Identifier


class Viewport(Body):
    """Of the page, CSS pixels."""

    width: int = Field(ge=1, le=100_000)
    height: int = Field(ge=1, le=100_000)


class Joining(Body):
    """`POST /api/sessions`. `request`: made by the page at random; the same again, after a lost answer, is no second
    participant."""

    consent_version: str = Field(max_length=100)
    recruiter: Recruiter | None = None
    request: Annotated[str, Field(min_length=16, max_length=100)] | None = None
    viewport: Viewport


class Withdrawing(Body):
    """`POST /api/withdraw`."""

    code: str = Field(max_length=100)


class _Empty(Body):
    pass


class _Shown(Body):
    trial: Identifier


class _Answer(_Shown):
    button: Annotated[int, Field(ge=-3, le=3), AfterValidator(_not_zero)]
    rt_ms: Annotated[float, Field(ge=0, lt=1e9)]


class _Questions(Body):
    answers: dict[Question, Text] = Field(max_length=10)


class _Visibility(Body):
    visible: bool


class _Event(Body):
    seq: int = Field(ge=0, lt=2**31)
    at_ms: Milliseconds


class InstructionsEvent(_Event):
    """The instructions came into view, or were left."""

    kind: Literal["instructions_shown", "instructions_done"]
    content: _Empty


class ShownEvent(_Event):
    """A trial was rendered."""

    kind: Literal["trial_shown"]
    content: _Shown


class AnswerEvent(_Event):
    """A button was pressed: -3..-1 left, 1..3 right, by confidence."""

    kind: Literal["answer"]
    content: _Answer


class QuestionsEvent(_Event):
    """The free texts."""

    kind: Literal["questions"]
    content: _Questions


class VisibilityEvent(_Event):
    """The page was hidden or came into view again."""

    kind: Literal["visibility"]
    content: _Visibility


AnyEvent = Annotated[
    InstructionsEvent | ShownEvent | AnswerEvent | QuestionsEvent | VisibilityEvent, Field(discriminator="kind")
]


class Events(Body):
    """`POST /api/session/events`."""

    events: list[AnyEvent] = Field(min_length=1, max_length=MOST_EVENTS)
