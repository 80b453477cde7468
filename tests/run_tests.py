"""Usage: run_tests.py (--preset NAME | --test-dir FOLDER) [CTEST OPTIONS...]

Runs ctest and forgives tests that fail only because the machine is busy. Such a test has the label `timing`, it missed a
limit (`assert seconds < 5`) and showed no other failure, and it passes when it is repeated alone after all others. It is
reported as flaky, with the output of its failure. Crashes, timeouts, reports of sanitizers and wrong values always count, and
so do more than MOST flaky tests. The output ends with ctest's closing lines for the whole run, and the exit code is ctest's.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

MOST = 3
LABEL = "timing"
TESTS_FAILED = 8  # ctest's exit code

# What a failure must not show. A wrong match costs a run of all tests, a missed one hides a bug: when in doubt, add a word.
UNFORGIVABLE = {
    "a sanitizer reported something": r"\w+Sanitizer\b|runtime error:",
    "a program crashed": r"\bSIG[A-Z]{2,}\b|Segmentation fault|[Aa]borted|[Bb]us error|Illegal instruction|[Cc]ore dumped"
    r"|CRASHED|Floating point exception|terminate called|Fatal Python error|died with|\bKilled\b|stack smashing|double free"
    r"|free\(\): |malloc\(\): |corrupted|Assertion .* failed"
    r"|(?:returncode|return code|exit code|exit status|\brc)\W{1,4}(?:-\d|1[3-5]\d\b)|assert -\d+ ==",
    "something did not end in time": r"TimeoutExpired|TimeoutError|[Tt]imed out",
    "values differ": r"[Mm]ismatch|[Nn]ot equal|[Nn]ot the same|\bdiffers?\b|[Dd]igest|\bsha\d+|\bcrc|[Cc]hecksum"
    r"|[Ff]ingerprint|array_equal|allclose|isclose|tobytes|\.equal\(|memcmp|[Ff]alsifying example",
}
# The only failures that may be forgiven are missed limits (`<`, `>`), and figures in check_soon(). pytest prints the failed
# statement (>), the values (E), indented lines of the test's source, and how many tests failed; doctest the failed expression.
PYTEST_SOURCE = re.compile(r"^ {4}.*\n", re.MULTILINE)
PYTEST_FAILURE = re.compile(r"^> +(.*)\n(?=E )", re.MULTILINE)
PYTEST_COUNT = re.compile(r"^=* *(\d+) failed(?:, \d+ (?:passed|skipped|deselected|warnings?))* in ", re.MULTILINE)
DOCTEST_FAILURE = re.compile(r"\bERROR: (.*)")
ASSERTION = re.compile(r"assert (?P<pytest>.*)|(?:CHECK|REQUIRE)\( (?P<doctest>.*) \) is NOT correct!")
MESSAGE = re.compile(r', f?"[^"]*"$')  # of an assertion
NOT_A_LIMIT = re.compile(r"[!=]=|\babs\(|\b(?:and|or|in|not|is)\b|&&|\|\|")

# What to do about reasons for skipping that many tests share. Other reasons end with "; " and what to do.
CURES = {
    "could not import '": "run scripts/python_environment.sh",
    "required is: '": "install a newer version of that package",
    "PENSTOCK_TEST_DATA": "cmake --preset dev -DPENSTOCK_TEST_DATA=FOLDER, with such files",
}

CLOSING = re.compile(r"^\d+% tests passed, \d+ tests failed out of (\d+)$")
PROGRESS = re.compile(r"^ +Start +\d+: |^ *\d+/\d+ Test +#\d+: ")
FAILED_LIST = "The following tests FAILED:"
FAILED = re.compile(r"^\t *\d+ - (?P<name>.+?) \((?P<status>[^()]*)\)(?:\s.*)?$")
CTEST_ERROR = "Errors while running CTest"


def say(text=""):
    sys.stdout.buffer.write(text.encode(errors="surrogateescape") + b"\n")
    sys.stdout.flush()


def run_ctest(words):
    """ctest's exit code and its closing lines. Prints all lines before these."""
    closing = []
    with subprocess.Popen(
        ["ctest", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as ctest:
        for raw in ctest.stdout:
            line = raw.decode(errors="surrogateescape").rstrip("\n")
            # The output of a test may contain closing lines, too. ctest's own have no line of progress after them.
            if closing and (PROGRESS.match(line) or CLOSING.match(line)):
                say("\n".join(closing))
                closing = []
            if closing or CLOSING.match(line):
                closing.append(line)
            else:
                say(line)
    return ctest.returncode, closing


def failures_in(closing):
    """{test: status} of the list in ctest's closing lines."""
    if FAILED_LIST not in closing:
        return {}
    listed = map(FAILED.match, closing[closing.index(FAILED_LIST) :])
    return {match["name"]: match["status"] for match in listed if match}


def read_junit(path):
    """{test: (reason, output)} of the tests that failed, as ctest writes them."""
    try:
        suite = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return {}
    return {
        case.get("name"): (case.find("failure").get("message") or "", case.findtext("system-out") or "")
        for case in suite.iter("testcase")
        if case.find("failure") is not None
    }


def labelled(which):
    """The tests that depend on how busy the machine is."""
    shown = subprocess.run(["ctest", *which, "--show-only=json-v1"], check=True, stdout=subprocess.PIPE)
    return {
        test["name"]
        for test in json.loads(shown.stdout)["tests"]
        for entry in test.get("properties", [])
        if entry["name"] == "LABELS" and LABEL in entry["value"]
    }


def is_limit(failure):
    """Whether a failed check compares a measured value with a limit, and nothing else."""
    match = ASSERTION.match(failure)
    if not match:
        return False
    checked = MESSAGE.sub("", match["pytest"] or match["doctest"])
    if checked == 'against == ""':  # check_soon.hpp
        return True
    return bool(re.search(r" [<>]=? ", checked)) and not NOT_A_LIMIT.search(checked)


def checks_that_failed(output):
    """The failed statements or expressions in the output of pytest or doctest; None if not all are known."""
    if not re.search(r"^E ", output, re.MULTILINE):
        return DOCTEST_FAILURE.findall(output)
    failures, count = PYTEST_FAILURE.findall(output), PYTEST_COUNT.findall(output)
    return failures if count == [str(len(failures))] else None


def why_unforgivable(status, reason, output):
    """Why a failure counts, whatever a repetition gives; None if it may be forgiven."""
    if status != "Failed" or reason:
        return reason or status
    if re.search(r"^E ", output, re.MULTILINE):
        output = PYTEST_SOURCE.sub("", output)
    for why, pattern in UNFORGIVABLE.items():
        if sign := re.search(pattern, output):
            return f"{why} ({sign[0].strip()})"
    failures = checks_that_failed(output)
    if not failures:
        return "it does not show which check failed"
    others = [failure for failure in failures if not is_limit(failure)]
    return f"it is not a limit that was missed ({others[0].strip()})" if others else None


def passes_alone(which, name):
    """Runs one test. Prints its output if it fails again."""
    words = ["-R", f"^{re.escape(name)}$", "--parallel", "1", "--output-on-failure", "--no-tests=error"]
    again = subprocess.run(
        ["ctest", *which, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output = again.stdout.decode(errors="surrogateescape")
    # A skipped test has not passed.
    passed = again.returncode == 0 and "\nThe following tests did not run:" not in output
    say(f"Repeated alone: {name}: {'passed' if passed else 'failed again'}")
    if not passed:
        say(re.sub(r"(?m)^", "    ", output))
    return passed


def closing_without(closing, forgiven):
    """ctest's closing lines as if the forgiven tests had passed."""
    failed = [name for name in failures_in(closing) if name not in forgiven]
    total = int(CLOSING.match(closing[0])[1])
    # ctest rounds, and shows 100 only if nothing failed.
    percent = min(int((total - len(failed)) * 100 / total + 0.5), 99 if failed else 100)
    lines = [f"{percent}% tests passed, {len(failed)} tests failed out of {total}"]
    for line in closing[1:]:
        match = FAILED.match(line)
        if match and match["name"] in forgiven:
            continue
        if not failed and line in (FAILED_LIST, CTEST_ERROR):
            continue
        lines.append(line)
    while lines[-1] == "":
        lines.pop()
    return lines


def forgive(which, failures, details):
    """The tests that failed once, and not when repeated alone."""
    timing = labelled(which)
    maybe = []
    for name, status in failures.items():
        why = why_unforgivable(status, *details.get(name, ("no output is known", "")))
        if name not in timing:
            why = why or f"it does not have the label {LABEL}"
        if why:
            say(f"Not repeated: {name}: {why}")
        else:
            maybe.append(name)
    if len(maybe) > MOST:
        say(f"Not repeated: {len(maybe)} tests failed that may depend on how busy this machine is, more than {MOST}")
        return []
    return [name for name in maybe if passes_alone(which, name)]


def with_cure(reason):
    """A reason for skipping a test, and what to do about it."""
    for shared, cure in CURES.items():
        if shared in reason:
            return reason, cure
    before, _, cure = reason.rpartition("; ")
    return (before, cure) if before else (reason, "")


def show_skipped(folder):
    """Prints a table of the cases that test programs skipped beside others: ctest counts only whole programs."""
    cases = collections.Counter()
    for account in folder.glob("*"):
        for line in account.read_text(errors="replace").splitlines():
            cases[(account.name, *with_cure(line.partition("\t")[2]))] += 1
    if cases:
        rows = [("cases", "test", "reason", "what to do"), *((f"{cases[row]:5}", *row) for row in sorted(cases))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        say("\nSkipped:")
        for row in rows:
            say("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def main():
    which, options = sys.argv[1:3], sys.argv[3:]
    build = pathlib.Path("build") / which[1] if which[0] == "--preset" else pathlib.Path(which[1])
    skipped = build / "tests" / "skipped_cases"
    for account in skipped.glob("*"):
        account.unlink()

    with tempfile.TemporaryDirectory() as folder:
        junit = pathlib.Path(folder) / "junit.xml"
        words = [
            "--output-on-failure",
            "--no-label-summary",
            "--no-tests=error",
            "--test-output-size-failed",
            "100000000",
        ]
        code, closing = run_ctest([*which, *words, *options, "--output-junit", str(junit)])
        failures, forgiven = failures_in(closing), []
        if code == TESTS_FAILED and failures:
            details = read_junit(junit)
            # Repetitions write the logs of the build folder again: those of the whole run stay, for `ctest --rerun-failed`.
            logs, kept = build / "Testing" / "Temporary", pathlib.Path(folder) / "logs"
            shutil.copytree(logs, kept)
            forgiven = forgive(which, failures, details)
            shutil.copytree(kept, logs, dirs_exist_ok=True)
            for name in forgiven:
                say(f"flaky: {name}: failed beside others and passed alone. Its failure:")
                say(re.sub(r"(?m)^", "    ", details[name][1].rstrip()))
            if forgiven:
                closing = closing_without(closing, forgiven)
    show_skipped(skipped)
    if closing:
        say("\n" + "\n".join(closing))
    return 0 if failures and len(forgiven) == len(failures) else code


if __name__ == "__main__":
    os.environ.pop("CTEST_OUTPUT_ON_FAILURE", None)
    sys.exit(main())
