#!/usr/bin/env bash
# Usage: tests/without_apt.sh    (as root on Debian, for chroot)
# Tests that scripts/wheel.sh --offline makes a wheel as an ordinary user, without a network, on a system that has no
# apt, dpkg, compiler or build tool, as on a cluster's login node. The system is a root with Debian's Python, perl and
# patch. Its network namespace has only the loopback interface. The root is in the folder without_apt of the cache
# (build/wheel or $PENSTOCK_WHEEL_CACHE), and so are the wheel's compiled libraries, for the next run. The wheel is
# copied to build/wheels. A first run compiles all libraries: 15 to 60 minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
fail() { echo "without_apt: $*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || fail "needs root, for chroot"
cache=${PENSTOCK_WHEEL_CACHE:-$here/build/wheel}
root=$cache/without_apt
user=1000

/usr/bin/python3 -m venv --help >/dev/null || fail "needs Debian's python3-venv"
scripts/wheel.sh --fetch-only /usr/bin/python3  # the root has the same Python
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
scripts/wheel/python_root.sh "$(uname -m)" "$suite" "$root" \
  bash diffutils findutils grep libc-bin libstdc++6 mawk patch perl python3-dev python3-venv sed tar
ln -sf mawk "$root/usr/bin/awk"
chmod 1777 "$root/tmp"
for tool in apt apt-get dpkg dpkg-source gcc g++ cc make cmake ninja nasm pkg-config git readelf; do
  rm -f "$root/usr/bin/$tool"
done
mkdir -p "$root/build/home" "$root/build/cache"
rm -rf "$root/build/penstock" "$root/build/cache"/{archives,packages} && mkdir "$root/build/penstock"
git ls-files -z | tar --null --files-from - -c | tar -x -C "$root/build/penstock"
cp -r "$cache"/{archives,packages} "$root/build/cache"
chown -R "$user:$user" "$root/build"

in_root() { # COMMAND: runs it as the user, without a network. /proc disappears with the last process.
  unshare --net --mount --pid --fork bash -ec '
    ip link set lo up
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot --userspec="$2:$2" "$1" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/build/home LC_ALL=C.UTF-8 \
      PENSTOCK_WHEEL_CACHE=/build/cache bash -ec "cd /build/penstock; $3"' _ "$root" "$user" "$1"
}

in_root '[ "$(id -u)" -ne 0 ]; [ "$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " ")" = lo ]' ||
  fail "the root is not isolated"
mv "$root/usr/bin/patch" "$root/usr/bin/no_patch"
error=$(in_root 'scripts/wheel.sh --offline python3 python3.99' 2>&1) && fail "the build did not miss patch"
mv "$root/usr/bin/no_patch" "$root/usr/bin/patch"
grep -q 'missing: patch, python3.99 (3.9 or newer). Without root, ' <<<"$error" || fail "another error: $error"

in_root 'scripts/wheel.sh --offline python3'
mkdir -p build/wheels
cp "$root"/build/penstock/build/wheels/*.whl build/wheels
