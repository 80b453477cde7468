"""HolisticTraceAnalysis reads merged traces."""

import json

from hta.trace_analysis import TraceAnalysis


def test_holistic_trace_analysis_reads_a_merged_trace(merged, tmp_path):
    folder = tmp_path / "hta"
    folder.mkdir()
    trace = json.loads(merged.read_text())
    trace["distributedInfo"] = {"rank": 0}
    (folder / "rank0.json").write_text(json.dumps(trace))
    analysis = TraceAnalysis(trace_dir=str(folder)).t
    table, names = analysis.get_trace(0), analysis.symbol_table.get_sym_table()
    assert len(table[table["name"] == names.index("next")]) == 5
