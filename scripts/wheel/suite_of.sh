#!/usr/bin/env bash
# Usage: scripts/wheel/suite_of.sh WHEEL
# Prints the Debian release with a Python for the wheel, that Python's version, and the wheel's ABI; "none" if there is
# no such Debian.
set -euo pipefail
case "$(basename "$1")" in
  *-cp39-cp39-*) echo bullseye 3.9 cp39 ;;
  *-cp311-cp311-*) echo bookworm 3.11 cp311 ;;
  *-cp312-abi3-*) echo trixie 3.13 abi3 ;;
  *) echo none ;;
esac
