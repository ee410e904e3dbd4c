"""Takes the pictures of a report's page in docs/, with the browser that the tests use.

PYTHONPATH=src:tests python docs/report_picture.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import podium
from browser import Opened, open_browser
from podium import LambdaMART, make_search

DOCS = Path(__file__).resolve().parent
WIDTH = 1100


def take_pictures(browser: object, folder: Path, n_queries: int = 200) -> None:
    """Report on a ranker of made data, and take the top of the page and its explorer."""
    train, valid, test = (make_search(n_queries=n_queries, random_state=seed) for seed in range(3))
    model = LambdaMART(n_estimators=200, early_stopping_rounds=30, eval_metric="ndcg@10")
    model.fit(train.X, train.y, qid=train.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid])
    page = podium.report(model, test.X, test.y, qid=test.qid, feature_names=test.feature_names)
    with tempfile.TemporaryDirectory() as made:
        page.save(Path(made) / "report.html")
        opened = Opened(browser, Path(made) / "report.html", WIDTH)
        opened.page.wait_for_selector("#quality figure svg > *", state="attached")  # painted once widths are known
        end = opened.page.locator("#quality").bounding_box()
        top = {"x": 0, "y": 0, "width": WIDTH, "height": end["y"] + end["height"] + 16}
        opened.page.screenshot(path=folder / "report.png", clip=top, full_page=True)
        opened.page.locator("#explorer").screenshot(path=folder / "report-why.png")


if __name__ == "__main__":
    with open_browser() as started:
        take_pictures(started, DOCS)
