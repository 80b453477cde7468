"""The public headers of C++: their examples compile, and programs get these headers alone."""

import importlib.util
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]

specification = importlib.util.spec_from_file_location("cpp_reference", ROOT / "scripts/cpp_reference.py")
cpp_reference = importlib.util.module_from_spec(specification)
specification.loader.exec_module(cpp_reference)

MOST_HEADERS = 50  # those of the libtorch adapter included


def test_the_examples_of_headers_compile(tmp_path):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no compiler; install g++")
    program, compiled = ["#include <iostream>", "#include <penstock/penstock.hpp>"], 0
    program += [f"#include <{header}>" for header in cpp_reference.headers()]
    for header in cpp_reference.headers():
        example = cpp_reference.about(header)[1]
        if example:
            program.append(f"void example_{pathlib.Path(header).stem}() {{\n{example}\n}}")
            compiled += 1
    source = tmp_path / "examples.cpp"
    source.write_text("\n".join(program))
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", ROOT, source]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    assert compiled > 15


def test_few_headers_are_installed():
    assert len(list((ROOT / "penstock").rglob("*.hpp"))) <= MOST_HEADERS


def test_every_header_tells_what_it_is_for():
    for header in cpp_reference.headers():
        assert cpp_reference.about(header)[0].endswith("."), header
        assert cpp_reference.declarations((ROOT / header).read_text()), header
