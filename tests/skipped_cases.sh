#!/usr/bin/env bash
# Usage: tests/skipped_cases.sh FOLDER
# Lists what the test programs of the last run skipped: FOLDER has a file for each, with a line for each case.
set -euo pipefail
shopt -s nullglob
for account in "$1"/*; do
  while IFS= read -r line; do printf 'skipped: %s: %s\n' "$(basename "$account")" "$line"; done <"$account"
done
