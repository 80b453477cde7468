"""The table of names that penstock does not have: each error names the replacement, and each replacement exists."""

import inspect
import pathlib
import pickle
import re

import penstock as ps
import pytest
from command import fails, run

RENAMES = pathlib.Path(__file__).parents[2] / "docs/renames.tsv"
MODULES = (ps.image, ps.array, ps.points)
COMMANDS = re.findall(r"^  ([a-z-]+)  ", run("--help").stdout.decode().partition("Subcommands:")[2], re.M)
HELP = {command: run(command, "--help").stdout.decode() for command in COMMANDS}


@pytest.fixture(name="labels")
def labels_fixture(tmp_path):
    for i in range(10):
        (tmp_path / f"{i}.cls").write_text(str(i))
    return tmp_path


def hints(where):
    return [pytest.param(theirs, *ours, id=theirs) for theirs, ours in ps._penstock.hints(where).items()]


def callables():
    """Every public function, and the classes that programs construct, by name."""
    spaces = {"penstock": ps, **{f"penstock.{name}": getattr(ps, name) for name in ("image", "array", "points")}}
    spaces |= {f"penstock.{name}": getattr(ps, name) for name in ("batching", "sampler", "shuffle", "sources")}
    for space, module in spaces.items():
        for name in getattr(module, "__all__", [each for each in vars(module) if each[0] != "_"]):
            each = getattr(module, name)
            if inspect.isfunction(each) or name == "Writer":
                yield f"{space}.{name}", each


def exists(expression):
    """Whether a name such as "ps.sampler.subset(indices)" leads to something."""
    place = ps
    for name in re.match(r"ps((?:\.\w+)+)", expression).group(1).split(".")[1:]:
        place = getattr(place, name)
    return place is not None


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("module"))
def test_names_of_modules(theirs, ours, note):
    with pytest.raises(AttributeError, match=re.escape(f"has no attribute {theirs!r}: use {ours}")):
        getattr(ps, theirs)
    assert all(exists(each) for each in re.findall(r"ps(?:\.\w+)+", ours))


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("Loader"))
def test_keywords_of_loaders(labels, theirs, ours, note):
    with pytest.raises(TypeError, match=f"has no keyword {theirs}") as refused:
        ps.Loader(labels, **{theirs: 1})
    assert str(refused.value).endswith(f": use {ours} ({note})" if ours else f", and needs none: {note}")
    assert ours == "" or ours in inspect.signature(ps.Loader).parameters
    assert all(exists(each) for each in re.findall(r"ps(?:\.\w+)+", note))


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("parameter"))
def test_parameters(theirs, ours, note):
    having = [(name, call) for name, call in callables() if ours in inspect.signature(call).parameters]
    assert having
    for name, call in having:
        if theirs in inspect.signature(call).parameters:
            continue
        with pytest.raises(TypeError, match=re.escape(f"{name}() has no keyword {theirs}: use {ours}")):
            call(*["nowhere"] * (name == "penstock.Writer"), **{theirs: 1})


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("step"))
def test_steps(theirs, ours, note):
    having = [module for module in MODULES if hasattr(module, ours)]
    assert having
    for module in having:
        with pytest.raises(AttributeError, match=f"has no step '{theirs}': use {ours}$"):
            getattr(module, theirs)


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("Dataset"))
def test_members_of_datasets(labels, theirs, ours, note):
    dataset = ps.open(labels)
    with pytest.raises(AttributeError, match=re.escape(f"has no attribute {theirs!r}: use {ours}")):
        getattr(dataset, theirs)
    assert (
        exists(ours)
        if ours.startswith("ps.")
        else ours.startswith(("len(", "dataset[")) or hasattr(dataset, ours.partition("(")[0])
    )


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("stats"))
def test_keys_of_stats(labels, theirs, ours, note):
    with pytest.raises(KeyError, match=f"'{theirs}' is not in stats.*: use {ours}"):
        ps.Loader(labels).stats()[theirs]
    assert f'"{ours}"' in RENAMES.read_text()


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("engine"))
def test_engines(tmp_path, theirs, ours, note):
    with pytest.raises(ps.Error, match=f'unknown read engine "{theirs}": use {ours}'):
        ps.stage(tmp_path, tmp_path / "x", engine=theirs)
    said = fails("stage", tmp_path, tmp_path / "x", "--engine", theirs, code=2)
    assert f'unknown read engine "{theirs}": use {ours}' in said


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("command"))
def test_commands(theirs, ours, note):
    assert ours in COMMANDS and theirs not in COMMANDS
    assert f"there is no command {theirs}: use {ours}" in fails(theirs, code=2)


def test_an_unknown_command_is_named():
    assert "there is no command pak; did you mean pack?" in fails("pak", "a", "b", code=2)
    assert "there is no command nosuchthing; penstock --help lists the commands" in fails("nosuchthing", code=2)


@pytest.mark.parametrize(("theirs", "ours", "note"), hints("option") + hints("pack"))
def test_options_of_the_command(theirs, ours, note):
    having = ["pack"] if ours == "penstock pack-join" else [name for name in COMMANDS if f" {ours} " in HELP[name]]
    assert having
    for command in having:
        if f" {theirs} " not in HELP[command]:
            said = fails(command, f"{theirs}=x", code=2)
            assert f"penstock {command} has no option {theirs}: use {ours}" in said


def test_functions_pickle():
    for name, call in callables():
        if name.rpartition(".")[0] in ("penstock.image", "penstock.array", "penstock.points"):
            continue  # their chains pickle
        assert pickle.loads(pickle.dumps(call)) is call, name


# Old names that mean something else now, or that are values which an error of their own names.
OTHERWISE = {"source", "workers", "Loader(source, ...)", "sources", "missing"}


def test_renamed_keywords_and_options_are_in_the_table():
    rows = [line.split("\t")[0] for line in RENAMES.read_text().splitlines()[1:]]
    keywords = {
        name
        for row in rows
        if re.match(r"(Loader|\w+(\.\w+)*)\(", row) and "Options" not in row
        for name in re.findall(r"[(, ](\w+)=", row)
    }
    known = {theirs for where in ("Loader", "parameter") for theirs in ps._penstock.hints(where)}
    assert keywords - OTHERWISE - known == set()
    options = {flag for row in rows if row.startswith("penstock ") for flag in re.findall(r"--[\w-]+", row)}
    refused = {theirs for where in ("option", "pack") for theirs in ps._penstock.hints(where)}
    # --cache-limit is the limit of the sample cache now, and --json is no old name.
    assert options - refused - {"--cache-limit", "--json"} == set()
