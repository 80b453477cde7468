"""Packing by several processes: under a real mpirun, under srun's variables, killed and resumed, and joined."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time

import pytest
from command import COMMAND, bytes_of

FORMATS = ["tar", "lmdb", "hdf5"]
LAUNCHERS = ("RANK", "WORLD_SIZE", "OMPI_", "PMI", "SLURM_")
needs_mpirun = pytest.mark.skipif(
    shutil.which("mpirun") is None, reason="mpirun is not installed; apt-get install openmpi-bin"
)


def environment(**variables):
    """This one without what a launcher may have set, and with `variables`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    return {**kept, **variables}


def run(*words, check=True, **options):
    options.setdefault("env", environment())
    result = subprocess.run([*map(str, words)], capture_output=True, timeout=300, **options)
    if check:
        assert result.returncode == 0, result.stderr.decode()
    return result


def penstock(*words, **options):
    return run(COMMAND, *words, **options)


def fails(*words, code=2, **options):
    result = penstock(*words, check=False, **options)
    assert result.returncode == code, result.stderr.decode()
    return result.stderr.decode()


def samples_of(dataset):
    """What `ls` and `info` say that does not depend on where shards end."""
    info = json.loads(penstock("info", dataset, "--json").stdout)
    return penstock("ls", dataset).stdout, info["samples"], info["classes"]


def partial(destination):
    return destination.with_name(destination.name + ".partial")


@pytest.fixture(name="images", scope="module")
def images_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "images"
    penstock("synth", "images", folder, "-n", 60, "--num-classes", 3)
    return folder


@needs_mpirun
@pytest.mark.parametrize("format", FORMATS)
def test_mpirun_packs_what_one_process_packs(icons, tmp_path, format):
    options = ["--format", format, "--shard-size", "100KB"]
    result = run(
        "mpirun",
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        3,
        COMMAND,
        "pack",
        icons,
        tmp_path / "mpi",
        *options,
        "--rank",
        "env",
    )
    assert all(f"rank {rank} of 3" in result.stderr.decode() for rank in range(3))
    assert not (tmp_path / "mpi").exists()
    assert "500 samples" in penstock("pack-join", tmp_path / "mpi").stderr.decode()
    assert not partial(tmp_path / "mpi").exists()
    penstock("verify", tmp_path / "mpi", "--against", icons)
    penstock("pack", icons, tmp_path / "alone", *options)
    penstock("verify", tmp_path / "mpi", "--against", tmp_path / "alone")
    assert samples_of(tmp_path / "mpi") == samples_of(tmp_path / "alone")
    # The same shards with another number of ranks, one after the other.
    for rank in (1, 0):
        penstock("pack", icons, tmp_path / "two", *options, "--rank", rank, "--world", 2, "--workers", 2)
    penstock("pack-join", tmp_path / "two")
    assert bytes_of(tmp_path / "two") == bytes_of(tmp_path / "mpi")


def test_a_rank_without_a_shard_says_why(icons, tmp_path):
    words = ["pack", icons, tmp_path / "set", "--format", "tar", "--world", 2]
    texts = [penstock(*words, "--rank", rank).stderr.decode() for rank in range(2)]
    assert sum("a smaller --shard-size gives each rank some" in text for text in texts) == 1


def test_ranks_of_srun_run_at_the_same_time(icons, tmp_path):
    ranks = []
    for rank in range(4):
        variables = {"SLURM_PROCID": str(rank), "SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4"}
        words = [COMMAND, "pack", icons, tmp_path / "set", "--format", "tar", "--shard-size", "100KB", "--rank", "env"]
        ranks.append(subprocess.Popen(words, env=environment(**variables), stderr=subprocess.PIPE))
    for rank, process in enumerate(ranks):
        text = process.communicate(timeout=300)[1].decode()
        assert process.returncode == 0 and f"rank {rank} of 4" in text
    penstock("pack-join", tmp_path / "set")
    penstock("verify", tmp_path / "set", "--against", icons)


def test_a_batch_script_outside_srun_is_no_rank(icons, tmp_path):
    variables = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "2"}
    text = fails("pack", icons, tmp_path / "set", "--format", "tar", "--rank", "env", env=environment(**variables))
    assert "SLURM_STEP_NUM_TASKS" in text
    assert not partial(tmp_path / "set").exists()


def test_in_slurm_the_innermost_launcher_counts(icons, tmp_path):
    step = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2"}
    pmi = {"PMI_RANK": "1", "PMI_SIZE": "2", "PMIX_RANK": "1"}  # srun --mpi=pmi2, --mpi=pmix
    torchrun = {"RANK": "3", "WORLD_SIZE": "4"}
    mpirun = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}
    for variables, expected in [
        (step, "rank 1 of 2"),
        (step | pmi, "rank 1 of 2"),
        (step | torchrun, "rank 3 of 4"),
        (step | mpirun | {"PMIX_RANK": "2"}, "rank 2 of 4"),
        (step | {"WORLD_SIZE": "2"}, "rank 1 of 2"),
    ]:
        destination = tmp_path / f"set-{len(os.listdir(tmp_path))}"
        words = ["pack", icons, destination, "--format", "tar", "--shard-size", "100KB", "--rank", "env"]
        assert expected in penstock(*words, env=environment(**variables)).stderr.decode()


def test_a_batch_script_is_told_to_use_srun(icons, tmp_path):
    batch = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
    words = ["pack", icons, tmp_path / "set", "--format", "tar", "--rank", "env"]
    text = fails(*words, env=environment(**batch, PMIX_RANK="0"))
    assert "a Slurm batch script has no rank, so start the program with srun" in text
    assert "srun" not in fails(*words, env=environment())


def test_a_batch_script_submitted_from_inside_a_step_is_no_rank(icons, tmp_path):
    """The parent process has the name that Slurm gives the daemon of a batch script."""
    inherited = {"SLURM_JOB_ID": "8", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    words = [COMMAND, "pack", icons, tmp_path / "set", "--format", "tar", "--shard-size", "100KB", "--rank", "env"]
    script = f"SLURM_TASK_PID=$BASHPID exec {shlex.join(map(str, words))}"
    for title, code, text in [
        ("slurmstepd: [8.batch]", 2, "start the program with srun"),
        ("slurmstepd: [8.0]", 0, "rank 0 of 2"),
    ]:
        daemon = f"({script}); exit $?"
        words = [title, "-c", daemon]
        result = subprocess.run(
            words, executable="/bin/bash", env=environment(**inherited), capture_output=True, timeout=300, check=False
        )
        assert result.returncode == code and text in result.stderr.decode(), result.stderr.decode()


JOB_SCRIPTS = pathlib.Path(__file__).parents[2] / "docs" / "cluster"


@pytest.mark.parametrize("script", sorted(JOB_SCRIPTS.glob("*.sbatch")), ids=lambda path: path.name)
def test_a_job_script_is_correct_and_on_the_page(script):
    """tests/slurm.sh runs them."""
    run("bash", "-n", script)
    if shutil.which("shellcheck") is not None:
        run("shellcheck", "--severity=warning", script)
    text = script.read_text()
    assert "penstock doctor" in text and text.startswith("#!/bin/bash\n#")
    assert f'```sh title="{script.name}"\n{text}```\n' in (JOB_SCRIPTS.parent / "cluster.md").read_text()


@pytest.mark.parametrize("format", FORMATS)
def test_a_rank_killed_midway_resumes_and_the_rest_joins(images, tmp_path, format):
    destination = tmp_path / "set"
    words = [
        "pack",
        images,
        destination,
        "--format",
        format,
        "--shard-size",
        "512KiB",
        "--workers",
        "1",
        "--world",
        "2",
    ]
    penstock(*words, "--rank", "1")
    process = subprocess.Popen([COMMAND, *map(str, words), "--rank", "0"], stderr=subprocess.DEVNULL)
    part = partial(destination) / "part-00000-of-00002.partial"
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if part.exists() and len(list(part.glob("*.idx"))) >= 2:
            process.send_signal(signal.SIGKILL)
            break
    if process.wait(60) == 0:
        pytest.skip("packing ended before the signal came; run this test alone")
    assert "unfinished ranks: 0" in fails("pack-join", destination)
    assert "pack-join" in fails("info", destination, code=1)
    assert "resume" in fails(*words, "--rank", "0")
    for rank in ("0", "1"):
        assert "from the interrupted run" in penstock(*words, "--rank", rank, "--resume").stderr.decode()
    penstock("pack-join", destination)
    penstock("verify", destination, "--against", images)
    for rank in ("0", "1"):
        penstock("pack", images, tmp_path / "whole", *words[3:], "--rank", rank)
    penstock("pack-join", tmp_path / "whole")
    assert bytes_of(destination) == bytes_of(tmp_path / "whole")
    penstock("pack-join", destination)  # once more does no harm
    assert bytes_of(destination) == bytes_of(tmp_path / "whole")


def test_finish_names_missing_ranks_and_other_options(icons, tmp_path):
    destination = tmp_path / "set"
    words = ["pack", icons, destination, "--format", "tar", "--world", "3", "--shard-size", "100KB"]
    assert "nothing to finish" in fails("pack-join", destination)
    penstock(*words, "--rank", "1")
    assert "missing ranks: 0 and 2" in fails("pack-join", destination)
    penstock(*words, "--rank", "0")
    penstock(*words, "--rank", "2", "--on-error", "skip")
    text = fails("pack-join", destination)
    assert "rank 2" in text and "skip_bad was false, now true" in text
    penstock(*words, "--rank", "2", "--overwrite")
    penstock("pack-join", destination)
    assert "already exists" in fails(*words, "--rank", "2")
    penstock("verify", destination, "--against", icons)


def test_wrong_usage_is_2(icons, tmp_path):
    words = ["pack", icons, tmp_path / "x", "--format", "tar"]
    assert "--world" in fails(*words, "--rank", "1")
    assert "--rank" in fails(*words, "--world", "2")
    assert "rank 2 must be less than world, which is 2" in fails(*words, "--rank", "2", "--world", "2")
    assert "a number or env" in fails(*words, "--rank", "first", "--world", "2")
    assert "no launcher" in fails(*words, "--rank", "env")
    assert "the environment defines both" in fails(*words, "--rank", "env", "--world", "2")
    assert "when you join the parts" in fails(*words, "--rank", "0", "--world", "2", "--report", tmp_path / "report")
    fails("pack-join", tmp_path / "x", "--format", "tar")
    assert os.listdir(tmp_path) == []


def damaged(icons, folder):
    """The icons packed, with one sample in fifty damaged; and their keys."""
    penstock("pack", icons, folder, "--format", "tar")
    keys = sorted(str(p.relative_to(icons)).removesuffix(".png") for p in icons.rglob("*.png"))[::50]
    shard = folder / "shard-000000.tar"
    content = bytearray(shard.read_bytes())
    for key in keys:
        header = content.index(f"{key}.png\0".encode())
        content[header + 512 + 100] ^= 1
    shard.write_bytes(content)
    return keys


def test_skipped_samples_of_all_ranks_are_in_one_report(icons, tmp_path):
    keys = damaged(icons, tmp_path / "source")
    words = ["pack", tmp_path / "source", tmp_path / "set", "--format", "hdf5", "--shard-size", "100KB", "--world", "3"]
    for rank in range(3):
        penstock(*words, "--rank", rank, "--on-error", "skip")
    text = penstock("pack-join", tmp_path / "set", "--report", tmp_path / "report.jsonl").stderr.decode()
    assert "490 samples" in text and "10 invalid samples skipped" in text
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert [line["key"] for line in lines] == keys
    assert all(line["field"] == "png" and "CRC-32C" in line["cause"] for line in lines)
    assert (tmp_path / "set" / "skipped.jsonl").read_bytes() == (tmp_path / "report.jsonl").read_bytes()
    penstock(
        "pack",
        tmp_path / "source",
        tmp_path / "alone",
        "--format",
        "hdf5",
        "--on-error",
        "skip",
        "--report",
        tmp_path / "alone.jsonl",
    )
    assert (tmp_path / "alone.jsonl").read_bytes() == (tmp_path / "report.jsonl").read_bytes()
    assert samples_of(tmp_path / "alone") == samples_of(tmp_path / "set")
    penstock("pack", icons, tmp_path / "good", "--format", "tar", "--report", tmp_path / "none.jsonl")
    assert (tmp_path / "none.jsonl").read_bytes() == b""
