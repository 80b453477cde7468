"""Perfetto reads merged traces. Its trace_processor_shell is a single program, which no package index offers."""

import os
import shutil
import subprocess

import pytest

PROCESSOR = os.environ.get("PENSTOCK_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")


@pytest.mark.skipif(
    not PROCESSOR,
    reason="no trace_processor_shell; download https://get.perfetto.dev/trace_processor and name it in PENSTOCK_TRACE_PROCESSOR",
)
def test_perfetto_s_trace_processor_reads_a_merged_trace(merged, tmp_path):
    (tmp_path / "query.sql").write_text("SELECT COUNT(*) AS waits FROM slice WHERE name = 'next';")
    command = [PROCESSOR, "--query-file", tmp_path / "query.sql", merged]
    assert "5" in subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split()
