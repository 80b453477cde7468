"""The recipes in packaging/ and the table of docs/building.md name the libraries that CMake finds, and one version."""

import ast
import re

import pytest
from pages import ROOT

PAGE = (ROOT / "docs/building.md").read_text()
CMAKE = (ROOT / "cmake/PenstockDependencies.cmake").read_text()
VERSION = re.search(r"project\(penstock VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
EASYCONFIGS = list((ROOT / "packaging/easybuild").glob("*.eb"))
SPACK = (ROOT / "packaging/spack/spack_repo/penstock/packages/penstock/package.py").read_text()
OF_SYSTEM = ["C++20 compiler", "CMake", "pkg-config"]
OF_PYTHON = ["Python", "nanobind"]


def table():
    """Library -> the other cells of its row. Brackets with the minimal version are dropped from the name."""
    rows = re.search(r"^\| library \|.*\n\|[- |]*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[1].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {re.sub(r" \[.*\]$", "", name): others for name, *others in cells}


def dependencies_of(easyconfig):
    """Name and version of each dependency, also of those for the build alone."""
    assigned = {
        statement.targets[0].id: statement.value
        for statement in ast.parse(easyconfig.read_text()).body
        if isinstance(statement, ast.Assign)
    }
    lists = assigned["builddependencies"].elts + assigned["dependencies"].elts
    return {f"{entry.elts[0].value} {entry.elts[1].value}" for entry in lists}


def test_the_page_lists_the_libraries_that_cmake_finds():
    required = re.findall(r"penstock_required\((\S+)", CMAKE)
    optional = re.findall(r"penstock_optional\((\S+)", CMAKE)
    packages = re.findall(r"find_package\((TBB|nlohmann_json|CLI11)\b", CMAKE)
    stores = re.findall(r"pkg_check_modules\(\w+ QUIET IMPORTED_TARGET (\w+)", CMAKE)
    assert sorted(table()) == sorted([*OF_SYSTEM, *required, *packages, *optional, *stores, *OF_PYTHON])
    for minimum in re.findall(r"(?:IMPORTED_TARGET |find_package\()(\w+)(?:>=| )([\d.]+)", CMAKE):
        assert "| {} [{}] |".format(*minimum) in PAGE


def test_the_page_lists_the_packages_that_the_script_installs():
    script = (ROOT / "scripts/install_dependencies.sh").read_text()
    installed = re.search(r"packages=\(([^)]*)\)", script)[1].split()
    others = {"ca-certificates", "ccache", "git", "ninja-build", "python3", "python3-venv", "doctest-dev"}
    listed = {re.search(r"`(\S+)`", debian)[1] for debian, *_ in table().values() if "`" in debian}
    assert listed == set(installed) - others


@pytest.mark.parametrize("easyconfig", EASYCONFIGS, ids=lambda path: path.name)
def test_an_easyconfig_has_the_modules_of_the_page(easyconfig):
    modules = {easybuild for _, easybuild, *_ in table().values()} - {"GCC 14.3.0"}
    assert dependencies_of(easyconfig) - {"Ninja 1.13.0"} == modules


def test_the_spack_package_has_the_libraries_of_the_page():
    named = set(re.findall(r'(?:depends_on|extends)\("([a-z0-9-]+)', SPACK))
    named -= {"c", "cxx", "cuda", "intel-tbb", "intel-oneapi-tbb"}
    assert named == {re.search(r"`([a-z0-9-]+)", spack)[1] for _, _, spack, _ in table().values()} - {"gcc"}


def test_the_spack_package_leaves_out_what_cmake_can_leave_out():
    named = ast.literal_eval(re.search(r"optional = (\{.*?\})", SPACK, re.DOTALL)[1])
    assert set(named) == {*re.findall(r"penstock_optional\((\S+)", CMAKE), "libcurl"}
    assert all(f'variant("{variant[1:]}"' in SPACK for variant in named.values())


def test_recipes_have_the_version_of_the_project():
    for easyconfig in EASYCONFIGS:
        assert easyconfig.name.startswith(f"penstock-{VERSION}-")
        assert f"version = '{VERSION}'" in easyconfig.read_text()
        assert f"packaging/easybuild/{easyconfig.name}" in PAGE
    assert re.findall(r'^    version\("(.*?)"', SPACK, re.MULTILINE) == [VERSION]
    assert f"Version {VERSION}\n" in (ROOT / "packaging/apptainer/penstock.def").read_text()
    assert EASYCONFIGS
