"""Usage: fake.py KIND STATE: a test that fails, most kinds only the first time. STATE is a file that remembers the first."""

import os
import pathlib
import signal
import sys
import time

KIND, STATE = sys.argv[1], pathlib.Path(sys.argv[2])

LIMIT_IN_PYTEST = """\
    def test_close_is_quick():
        began = time.monotonic()
        digest = sha256(b"in the source of the test, not in what failed")
>       assert time.monotonic() - began < 5
E       assert 7.25 < 5
E        +  where 7.25 = <built-in function monotonic>() - 12.5

test_fake.py:9: AssertionError
"""
TOLD_LIMIT_IN_PYTEST = LIMIT_IN_PYTEST.replace("began < 5", 'began < 5, "it is no use to ask again"', 1)
BYTES_IN_PYTEST = """\
>       assert values(batch) == expected
E       AssertionError: assert [0, 7] == [0, 8]
E         At index 1 diff: 7 != 8

test_fake.py:9: AssertionError
"""
VARIABLE_IN_PYTEST = """\
>       assert right, "other rows"
E       AssertionError: other rows
E       assert False

test_fake.py:9: AssertionError
"""
CLOSE_IN_PYTEST = """\
>       assert abs(row - expected).max() < 1e-6
E       assert 0.5 < 1e-06

test_fake.py:9: AssertionError
"""
LIMIT_AND_VALUE_IN_PYTEST = """\
>       assert time.monotonic() - began < 5 and rows == expected
E       assert (7.25 < 5)

test_fake.py:9: AssertionError
"""
RETURNCODE_IN_PYTEST = """\
>       assert done.returncode == 0, done.stderr
E       AssertionError: the store did not answer
E       assert {code} == 0
E        +  where {code} = CompletedProcess(args=['penstock'], returncode={code}, stdout=b'').returncode

test_fake.py:9: AssertionError
"""
FRAMES_IN_PYTEST = """\
>       check_soon(loader)

test_fake.py:20:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def check_soon(loader):
>       assert took < 5
E       assert 7.25 < 5

test_fake.py:9: AssertionError
"""
UNKNOWN_IN_PYTEST = """\
E   fixture 'packed' not found
"""


def pytest_output(*failures, more=""):
    return "\n".join(failures) + f"{len(failures)} failed, 3 passed{more} in 2.34s\n"


SEPARATOR = "[doctest] doctest version is 2.4.9\n"
PRINTED = {
    "always": pytest_output(LIMIT_IN_PYTEST),
    "limit": pytest_output(LIMIT_IN_PYTEST),
    "told_limit": pytest_output(TOLD_LIMIT_IN_PYTEST),
    "two_limits": pytest_output(LIMIT_IN_PYTEST, FRAMES_IN_PYTEST),
    "doctest_limit": SEPARATOR + "a_test.cpp:5: ERROR: CHECK( Clock::now() - began < 10s ) is NOT correct!\n",
    "doctest_soon": SEPARATOR + 'check_soon.hpp:23: ERROR: CHECK( against == "" ) is NOT correct!\n',
    "nested_summary": "50% tests passed, 1 tests failed out of 2\n\nThe following tests FAILED:\n\t  1 - inner (Failed)\n"
    + pytest_output(LIMIT_IN_PYTEST),
    # never forgiven
    "plain": "the answer came too late\n",
    "bytes": pytest_output(BYTES_IN_PYTEST),
    "bytes_beside_limit": pytest_output(LIMIT_IN_PYTEST, BYTES_IN_PYTEST),
    "unknown": LIMIT_IN_PYTEST + UNKNOWN_IN_PYTEST + "2 failed in 2.34s\n",
    "error": pytest_output(LIMIT_IN_PYTEST, more=", 1 error"),
    "variable": pytest_output(VARIABLE_IN_PYTEST),
    "close": pytest_output(CLOSE_IN_PYTEST),
    "limit_and_value": pytest_output(LIMIT_AND_VALUE_IN_PYTEST),
    "returncode": pytest_output(RETURNCODE_IN_PYTEST.format(code=1)),
    "array": ">       compare(a, b)\nE       AssertionError:\nE       Arrays are not equal\n\nt.py:9: AssertionError\n",
    "digest": pytest_output(LIMIT_IN_PYTEST) + "photos crop: not the same as on this processor\n",
    "doctest_values": SEPARATOR + "a_test.cpp:5: ERROR: CHECK( row == expected ) is NOT correct!\n",
    "doctest_exception": SEPARATOR + "a_test.cpp:5: ERROR: test case THREW exception: no such sample\n",
    "child_crash": pytest_output(LIMIT_IN_PYTEST) + "CompletedProcess(args=[], returncode=-11)\n",
    "shell_crash": pytest_output(LIMIT_IN_PYTEST) + "Segmentation fault (core dumped)\n",
    "address": pytest_output(LIMIT_IN_PYTEST)
    + "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010\n",
    "thread": pytest_output(LIMIT_IN_PYTEST) + "WARNING: ThreadSanitizer: data race (pid=7)\n",
    "undefined": pytest_output(LIMIT_IN_PYTEST) + "a.cpp:7:3: runtime error: signed integer overflow\n",
    "leak": pytest_output(LIMIT_IN_PYTEST) + "==7==ERROR: LeakSanitizer: detected memory leaks\n",
    "hang": pytest_output(LIMIT_IN_PYTEST)
    + "E       subprocess.TimeoutExpired: Command 'penstock' timed out after 60 seconds\n",
}

if KIND == "good" or (STATE.exists() and KIND != "always"):
    sys.exit(0)
STATE.touch()
if KIND == "skips":
    account = STATE.parent / "tests" / "skipped_cases" / KIND
    account.parent.mkdir(parents=True, exist_ok=True)
    reasons = ["no device: /dev/none; really; plug it in"] * 2 + ["no time", "could not import 'ray'"]
    account.write_text("".join(f"case: {number}\t{reason}\n" for number, reason in enumerate(reasons)))
    sys.exit(0)
if KIND == "signal":
    print(PRINTED["limit"], flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
if KIND == "timeout":
    print(PRINTED["limit"], flush=True)
    time.sleep(60)
print(PRINTED[KIND], end="")
sys.exit(1)
