#!/usr/bin/env bash
# Usage: scripts/wheel/on_debian11.sh WHEEL    (as root, for chroot)
# Installs the wheel for Python 3.9, and runs tests/python/check_wheel.py, in a root with only Debian 11's C library
# (glibc 2.31) and Python. Fails if the first batch comes later than 15 s after `pip install` began.
set -euo pipefail
here=$(realpath "$(dirname "$0")/../..")
wheel=$(realpath "$1")
cache=${PENSTOCK_WHEEL_CACHE:-$here/build/wheel}
arch=$(uname -m)
"$here/scripts/wheel/python_root.sh" "$arch" bullseye "$cache/roots/bullseye-$arch"
root=$cache/roots/bullseye-$arch
work=$(mktemp -d "$root/tmp/wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -r "$wheel" "$here"/tests/python/{check_wheel.py,wheel_tls.py,certificates} "$work"
# Uses separate namespaces, so that the mount of /proc disappears with the last process.
unshare --mount --pid --fork sh -ec '
  mount -t proc proc "$1/proc"
  exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp LC_ALL=C.UTF-8 sh -ec "
    cd \"$2\"
    /lib/*-linux-gnu/libc.so.6 | head -n1
    began=\$(date +%s.%N)
    python3 -m pip install --quiet --no-index --prefix \"$2/installed\" \"$2\"/*.whl
    PYTHONPATH=\$(echo \"$2\"/installed/lib/python3*/site-packages) python3 check_wheel.py --since \$began --command \"$2/installed/bin/penstock\"
  "' _ "$root" "/tmp/$(basename "$work")"
