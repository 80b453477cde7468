"""Tests run_tests.py on a project of fake tests, which fail in the ways of real ones."""

import ast
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import run_tests

CLOSING = re.compile(r"^(\d+)% tests passed, (\d+) tests failed out of (\d+)$", re.MULTILINE)

FORGIVEN = ["limit", "told_limit", "two_limits", "doctest_limit", "doctest_soon", "nested_summary"]
COUNTED = [
    "plain",
    "bytes",
    "bytes_beside_limit",
    "unknown",
    "error",
    "variable",
    "close",
    "limit_and_value",
    "returncode",
    "array",
    "digest",
]
COUNTED += [
    "doctest_values",
    "doctest_exception",
    "child_crash",
    "shell_crash",
    "address",
    "thread",
    "undefined",
    "leak",
    "hang",
]


def reasons_in_python():
    """(place, reason) of each literal reason for skipping a test."""
    for file in sorted((HERE.parent / "python").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
                if ast.unparse(node.func) == "pytest.skip":
                    given = node.args[:1]
                elif node.func.attr not in ("skipif", "importorskip"):
                    given = []
                for reason in map(ast.unparse, given):
                    yield f"{file.name}:{node.lineno}: {reason}", reason


def reasons_in_cpp():
    for file in sorted([*HERE.parent.rglob("*.cpp"), *HERE.parent.rglob("*.hpp")]):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for reason in re.findall(r'(?:^ *|return |test::)skip\([^"]*"(.*)"\);', line):
                yield f"{file.name}:{number}: {reason}", reason


class RunTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.build = pathlib.Path(self.folder.name)

    def run_kinds(self, *kinds, labels="timing", options=()):
        """Runs a project with a test of each kind: exit code, output, and (percent, failed, total) of its last summary."""
        lines = []
        for kind in dict.fromkeys(kinds):
            state = self.build / f"{kind}.state"
            lines.append(f'add_test({kind} "{sys.executable}" "{HERE / "fake.py"}" {kind} "{state}")\n')
            lines.append(
                f'set_tests_properties({kind} PROPERTIES LABELS "{labels}" TIMEOUT {2 if kind == "timeout" else 30})\n'
            )
        (self.build / "CTestTestfile.cmake").write_text("".join(lines))
        runner = [sys.executable, HERE.parent / "run_tests.py", "--test-dir", self.build, *options]
        done = subprocess.run(runner, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        summaries = [tuple(map(int, found)) for found in CLOSING.findall(done.stdout)]
        return done.returncode, done.stdout, summaries[-1] if summaries else None

    def test_a_run_without_failures_is_ctest_s(self):
        code, output, summary = self.run_kinds("good")
        self.assertEqual((code, summary), (0, (100, 0, 1)))
        self.assertNotIn("Repeated", output)

    def test_skipped_cases_are_counted_by_reason_before_the_summary(self):
        output = self.run_kinds("skips", "good")[1]
        table = output[output.index("Skipped:\n") : output.rindex("100% tests passed")].splitlines()
        self.assertEqual(
            [re.split("  +", line.strip()) for line in table[1:5]],
            [
                ["cases", "test", "reason", "what to do"],
                ["1", "skips", "could not import 'ray'", "run scripts/python_environment.sh"],
                ["2", "skips", "no device: /dev/none; really", "plug it in"],
                ["1", "skips", "no time"],
            ],
        )
        self.assertNotIn("Skipped:", self.run_kinds("good")[1])

    def test_every_reason_says_what_to_do(self):
        found = [*reasons_in_cpp(), *reasons_in_python()]
        self.assertGreater(len(found), 60)
        self.assertEqual([where for where, reason in found if not run_tests.with_cure(reason)[1]], [])

    def test_a_test_that_fails_once_is_flaky(self):
        for kinds in FORGIVEN[:3], FORGIVEN[3:]:
            code, output, summary = self.run_kinds("good", *kinds)
            self.assertEqual((code, summary), (0, (100, 0, 1 + len(kinds))), output)
            for kind in kinds:
                self.assertIn(f"flaky: {kind}: ", output)
            ending = output[output.rindex("100% tests passed") :]
            self.assertNotIn("FAILED", ending)
            self.assertNotIn("Errors while running", ending)
            self.assertIn("Total Test time (real) =", ending)

    def test_the_output_of_a_flaky_failure_is_shown_before_the_summary(self):
        output = self.run_kinds("limit", "good")[1]
        report = output[output.index("flaky: limit: ") : output.rindex("100% tests passed")]
        self.assertIn("assert 7.25 < 5", report)

    def test_crashes_timeouts_sanitizers_and_wrong_values_always_count(self):
        kinds = [*COUNTED, "signal", "timeout"]
        code, output, summary = self.run_kinds("good", *kinds, options=["--parallel", "4"])
        self.assertEqual((code, summary[1:]), (8, (len(kinds), len(kinds) + 1)), output)
        for kind in kinds:
            self.assertIn(f"Not repeated: {kind}: ", output)
        self.assertNotIn("flaky", output)

    def test_a_test_that_fails_again_counts(self):
        code, output, summary = self.run_kinds("good", "always")
        self.assertEqual((code, summary), (8, (50, 1, 2)))
        self.assertIn("Repeated alone: always: failed again", output)

    def test_only_tests_that_depend_on_time_are_forgiven(self):
        code, output, summary = self.run_kinds("good", "limit", labels="other")
        self.assertEqual((code, summary), (8, (50, 1, 2)))
        self.assertIn("label timing", output)

    def test_the_summary_lists_what_counts_and_not_what_is_forgiven(self):
        code, output, summary = self.run_kinds("good", "limit", "signal", "doctest_limit")
        self.assertEqual((code, summary), (8, (75, 1, 4)))
        ending = output[output.rindex("tests passed") :]
        self.assertRegex(ending, r"\d - signal \(SEGFAULT\)")
        self.assertNotIn("limit", ending)
        self.assertIn("flaky: doctest_limit: ", output)
        failed = self.build / "Testing" / "Temporary" / "LastTestsFailed.log"
        self.assertIn("signal", failed.read_text())  # ctest --rerun-failed reads it

    def test_more_than_a_handful_is_not_forgiven(self):
        self.assertEqual(self.run_kinds("good", *FORGIVEN[:3])[::2], (0, (100, 0, 4)))
        for state in self.build.glob("*.state"):
            state.unlink()
        code, output, summary = self.run_kinds("good", *FORGIVEN[:4])
        self.assertEqual((code, summary), (8, (20, 4, 5)))
        self.assertNotIn("flaky", output)

    def test_ctest_s_options_and_errors_pass_through(self):
        code, output, summary = self.run_kinds("good", "signal", options=["-R", "good"])
        self.assertEqual((code, summary), (0, (100, 0, 1)))
        self.assertNotEqual(self.run_kinds("good", options=["-R", "nothing"])[0], 0)
        code, output, summary = self.run_kinds("good", options=["-N"])
        self.assertEqual((code, summary), (0, None))
        self.assertIn("Total Tests: 1", output)


if __name__ == "__main__":
    unittest.main()
