"""A small run without a fault, and a comparison with it."""

import pytest

from small_run import Project


@pytest.fixture(scope="session")
def untouched(tmp_path_factory):
    """The small run without a fault."""
    project = Project(tmp_path_factory.mktemp("untouched") / "project")
    found = project.run()
    assert found.returncode == 0, found.stderr
    return project


@pytest.fixture
def project(tmp_path):
    """A fresh copy."""
    return Project(tmp_path / "project")


@pytest.fixture
def whole(untouched):
    """Return a function that checks that a project is as if nothing had happened."""

    def check(project: Project) -> None:
        assert project.drawn() == untouched.drawn()
        assert project.files() == untouched.files()

    return check
