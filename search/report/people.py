"""Studies in which people were shown units of this search's networks: is a more brain-like one easier to understand?

Only files are read, of `results/studies/` beside the search's folder: what froze a study says of which search its
networks are; what its report found over networks lies beside that report.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from search.report.tables import SearchTables

QUESTION = "network_question"  # the table of a study's report: one row with n, rho, p and answer


@dataclass(frozen=True)
class PeopleStudy:
    """A frozen study of networks of this search.

    `networks`: how many it shows. `n`: those with a defined HMS and accepted answers. `rho`: Spearman of a network's
    accuracy with its HMS, `p` two-sided; None where undefined. `page`: its report; None: it has none yet.
    """

    name: str
    networks: int
    page: Path | None = None
    n: int | None = None
    rho: float | None = None
    p: float | None = None
    answer: str = ""

    def link(self, out: Path) -> str:
        """Address of its report as seen from a page in the folder `out`."""
        return "" if self.page is None else Path(os.path.relpath(self.page, out)).as_posix()


def people_studies(tables: SearchTables) -> list[PeopleStudy]:
    """The frozen studies of this search, by name; those that cannot be read are not counted as such."""
    studies = tables.directory.resolve().parent.parent / "studies"
    found = (_study(frozen, tables.record.name) for frozen in sorted(studies.glob("*/frozen.json")))
    return [study for study in found if study is not None]


def _study(frozen: Path, search: str) -> PeopleStudy | None:
    try:
        config = json.loads(frozen.read_text(encoding="utf-8"))["config"]
        if config["study"].get("search") != search:
            return None
        name, networks = str(config["study"]["name"]), len(config["networks"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    folder = frozen.parent / "report"
    try:
        row = pd.read_csv(folder / "tables" / f"{QUESTION}.csv", keep_default_na=False).iloc[0]
        n, rho, p, answer = int(row["n"]), _number(row["rho"]), _number(row["p"]), str(row["answer"])
    except (OSError, ValueError, KeyError, IndexError):
        return PeopleStudy(name, networks)
    return PeopleStudy(name, networks, folder / "report.html", n, rho, p, answer)


def _number(text: object) -> float | None:
    return None if str(text) == "" else float(str(text))
