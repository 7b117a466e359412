import enum
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from search.errors import DocumentRefused
from search.store import Store, new_job_document, to_plain
from search.store.documents import hyperopt_result


class Colour(enum.Enum):
    RED = "red"


NOW = datetime(2026, 1, 2, tzinfo=UTC)
PLAIN = [
    (None, None),
    (True, True),
    (3, 3),
    (-(2**63), -(2**63)),
    (2**63 - 1, 2**63 - 1),
    (0.1, 0.1),
    ("text $x ü", "text $x ü"),
    (NOW, NOW),
    (Colour.RED, "red"),
    (Path("/data/kitti"), "/data/kitti"),
    ((1, 2), [1, 2]),
    ({"a": {"b.c": (np.int32(1),)}}, {"a": {"b.c": [1]}}),
    (np.bool_(True), True),
    (np.int8(-3), -3),
    (np.uint64(7), 7),
    (np.float16(0.5), 0.5),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.float64(0.1), 0.1),
    (np.longdouble(0.5), 0.5),
    (np.str_("s"), "s"),
    (np.array(2.5), 2.5),
    (np.array([[1, 2], [3, 4]], dtype=np.uint8), [[1, 2], [3, 4]]),
    (torch.tensor(1.5), 1.5),
    (torch.tensor(True), True),
    (torch.tensor([1, 2]), [1, 2]),
    (torch.tensor(0.5, dtype=torch.bfloat16, requires_grad=True), 0.5),
    (float("nan"), None),
    (np.float32("inf"), None),
    (torch.tensor([float("nan"), 1.0]), [None, 1.0]),
    ({"x": [float("-inf")]}, {"x": [None]}),
]


@pytest.mark.parametrize(("value", "expected"), PLAIN, ids=lambda value: repr(value)[:30])
def test_the_types_matrix(value: Any, expected: Any) -> None:
    plain = to_plain(value)
    assert plain == expected and type(plain) is type(expected)


def test_the_whole_matrix_survives_the_server(store: Store) -> None:
    store.insert([new_job_document("s", 0, params={}, seed=0)])
    job = store.reserve("s", "w")
    assert job is not None
    store.finish(job, {"status": "ok", "loss": np.float32(0.25), "all": [value for value, _ in PLAIN]})
    stored = store.job("s", 0)
    assert stored is not None
    assert stored["result"] == {"status": "ok", "loss": 0.25, "all": [expected for _, expected in PLAIN]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**63, "value is 9223372036854775808: MongoDB holds integers of 64 bits"),
        (np.uint64(2**63), "value is 9223372036854775808"),
        ({"a": [0, -(2**63) - 1]}, r"value\.a\[1\] is -9223372036854775809"),
        (b"bytes", r"value is a builtins\.bytes"),
        ({1, 2}, r"value is a builtins\.set"),
        (1 + 2j, r"value is a builtins\.complex"),
        (np.complex64(1), r"numpy\.complex64"),
        (np.array([object()]), r"numpy\.ndarray"),
        (np.datetime64("2026-01-01"), r"numpy\.datetime64"),
        ({"loss": object()}, r"value\.loss is a builtins\.object"),
        ({3: "a"}, "value has the key 3"),
        ({"a\0b": 1}, "NUL"),
        ("\ud800", "not Unicode"),
        (len, "builtin_function_or_method"),
    ],
    ids=lambda value: repr(value).partition(" object at")[0][:30],
)
def test_what_cannot_be_stored_is_refused_by_name(value: Any, message: str) -> None:
    with pytest.raises(DocumentRefused, match=message):
        to_plain(value)


def nested(levels: int) -> Any:
    value: Any = 1.0
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return value


@pytest.mark.parametrize("levels", [101, 180, 900, 5000])
def test_what_is_nested_too_deep_is_refused_by_name(levels: int) -> None:
    with pytest.raises(DocumentRefused, match=r"value(\.a|\[0\]){3}.*nested deeper than 100 levels"):
        to_plain(nested(levels))


def test_the_server_takes_what_is_not_refused(store: Store) -> None:
    # `params` lies two levels deep in its document, the others one; each is written in another way.
    store.insert([new_job_document("s", 0, params={"deep": nested(98)}, seed=0)])
    job = store.reserve("s", "w")
    assert job is not None and job.params == {"deep": nested(98)}
    store.heartbeat(job, progress={"deep": nested(99)})
    store.record(job, 5, {"deep": nested(99)})
    store.set_checkpoint(job, {"epoch": 5, "deep": nested(99)})
    store.finish(job, {"status": "ok", "loss": 0.5, "deep": nested(99)})
    stored = store.job("s", 0)
    assert stored is not None and stored["result"]["deep"] == store.epochs("s")[0]["deep"] == nested(99)
    with pytest.raises(DocumentRefused, match="nested deeper"):
        store.record(job, 10, {"deep": nested(100)})


def test_parameters_must_be_finite() -> None:
    with pytest.raises(DocumentRefused, match=r"trial 4\.params\.lr is nan"):
        new_job_document("s", 4, params={"lr": float("nan")}, seed=0)


def test_a_new_document_has_hyperopts_fields_and_ours() -> None:
    document = new_job_document(
        "s", 2, params={"lr": np.float64(0.1)}, seed=5, misc={"vals": {"lr": [0.1]}}, seen=[0, 1]
    )
    assert document["misc"] == {"tid": 2, "cmd": None, "workdir": None, "idxs": {}, "vals": {"lr": [0.1]}}
    assert document["result"] == {"status": "new"} and document["state"] == 0
    assert (document["point"], document["replicate"], document["seen"]) == (2, 0, [0, 1])


@pytest.mark.parametrize(
    "loss", [float("nan"), float("inf"), float("-inf"), np.float32("nan"), torch.tensor(float("nan"))]
)
def test_no_loss_that_is_not_finite_is_ever_stored(loss: Any) -> None:
    result = hyperopt_result({"status": "ok", "loss": loss})
    assert result["status"] == "fail" and "loss" not in result and result["reason"].startswith("the loss is")


def test_torch_is_not_imported_for_plain_values() -> None:
    code = "import sys; from search.store import to_plain; to_plain({'a': [1]}); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
