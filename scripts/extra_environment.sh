#!/usr/bin/env bash
# Usage: scripts/extra_environment.sh REQUIREMENTS FOLDER
# Makes the virtual environment FOLDER with the packages that the file REQUIREMENTS lists, and with those of .venv. Does
# nothing if it is up to date. Removes FOLDER if a package cannot be installed; FOLDER.log has pip's output.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=$1 folder=$2 stamp=$2/requirements.sha256
wanted=$(cat "$requirements" .venv/requirements.sha256 | sha256sum)
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

packages_of() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

echo "Installing the packages of $requirements into $folder"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
{
  .venv/bin/python -m venv --without-pip "$folder" &&
    packages_of .venv/bin/python >"$(packages_of "$folder/bin/python")/venv.pth" &&
    .venv/bin/python -m pip --python "$folder/bin/python" install --disable-pip-version-check --requirement "$requirements"
} >"$folder.log" 2>&1 || { rm -rf "$folder"; exit 1; }
echo "$wanted" >"$stamp"
