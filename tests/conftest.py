"""The profile of Hypothesis, what makes the whole suite quick, and fixtures that several test files share."""

import gc
import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import podium
import profiles
from podium import cli
from podium._compiled import JIT_DISABLED
from real_data import find_data

os.environ.setdefault("PODIUM_QUIET", "1")  # tests look at standard error
MEMORY = Path("/dev/shm")  # of Linux
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # models that are saved need not wait for a disk
pytest.register_assert_rewrite("parameters")  # before the search for doctests imports it
profiles.settings.load_profile(os.environ.get("PODIUM_PROFILE", "steady"))
UNTRACED = {
    *("test_categories", "test_cli_examples", "test_documents", "test_examples", "test_lambdamart", "test_magnitudes"),
    *("test_mutants", "test_ordinal_laws", "test_ordinal_thresholds", "test_parameters", "test_programs"),
    *("test_quality", "test_rankboost_plus", "test_rankers", "test_readers_real", "test_resuming", "test_stump"),
}
"""Test files that run whole fits and programs, whose lines other tests take too: tracing is a third of their time."""


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for doctests in the library alone: test files have none, and looking there takes seconds."""
    found = yield
    return [one for one in found if type(one) is pytest.Module]


def trace(config, wanted):
    """Let coverage trace from here on, or not; nothing is done where it does not run at all."""
    tracer = getattr(config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    if tracer is not None and wanted != (tracer.started is not False):  # None: the process that hands out the tests
        (tracer.resume if wanted else tracer.pause)()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Trace no imports of the compiled run, as the plain run traces them; look for garbage of tests, not among them."""
    trace(session.config, JIT_DISABLED)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)  # compiling makes much that lives on
        gc.enable()


class Tracing:
    """A plugin, as the doctests of the library do not see the hooks of this file."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Trace plain tests in the plain run alone, where kernels leave traces too: it costs half the time."""
        whole_fits = item.path.stem in UNTRACED or "checks_of_scikit_learn" in item.name
        trace(item.config, JIT_DISABLED or not (whole_fits or item.get_closest_marker("plain")))
        return (yield)


def pytest_configure(config):
    """Say which tests are traced."""
    config.pluginmanager.register(Tracing())


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """`find_data`: where a real data set is; the test is skipped where it is not."""
    return find_data


@pytest.fixture
def read(tmp_path):
    """Import a model of another program: a text, or a document as JSON."""

    def of(content, **options):
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "model").write_text(text)
        return podium.import_model(tmp_path / "model", **options)

    return of


@pytest.fixture
def command_line(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder; return exit code, output and error output."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["podium", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def search_files(tmp_path):
    """Write train.txt and valid.txt, LETOR files of made search data, into an empty folder."""
    for name, seed in (("train", 0), ("valid", 1)):
        table = podium.make_search(n_queries=20, docs_per_query=10, random_state=seed)
        lines = []
        for x, y, qid in zip(table.X.tolist(), table.y, table.qid, strict=True):
            cells = " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(x))
            lines.append(f"{y:g} qid:{qid} {cells}\n")
        (tmp_path / f"{name}.txt").write_text("".join(lines))


@pytest.fixture(scope="module")
def client():
    """Three workers of Dask as threads of this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from distributed import Client, LocalCluster

        options = {"n_workers": 3, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            yield client
