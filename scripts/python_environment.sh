#!/usr/bin/env bash
# Usage: scripts/python_environment.sh
# Makes .venv with the Python packages of the tests (PyPI). Does nothing if it is up to date. PyTorch, and packages that
# need it, are installed if the package index has a CPU-only build. Otherwise Debian's PyTorch is used, if .venv's
# Python is Debian's. Tests whose packages are not available are skipped. The tests need only the schema and codecs of
# Petastorm, and only the parser of PyTorch's TensorBoard plug-in, so their dependencies (Spark, TensorBoard) are left out.
# Also installs or unpacks the programs that single tests start: mpirun and nginx.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=tests/python/requirements.txt
stamp=.venv/requirements.sha256
torch=tests/python/requirements_torch.txt
petastorm=tests/python/requirements_petastorm.txt
tensorboard=tests/python/requirements_tensorboard.txt
torchvision=tests/python/requirements_torchvision.txt
albumentations=tests/python/requirements_albumentations.txt
fuse=tests/python/requirements_fuse.txt
stores=tests/python/requirements_stores.txt
ray=tests/python/requirements_ray.txt
site=docs/requirements.txt
wanted=$(cat tests/python/requirements*.txt "$site" | sha256sum)
if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

echo "Installing the Python packages of the tests into .venv"
python3 -m venv --clear .venv
pip=(.venv/bin/python -m pip install --quiet --disable-pip-version-check)
"${pip[@]}" --requirement "$requirements"

# Links single packages, not the whole of Debian's dist-packages, whose other packages must not hide those of the tests.
# Debian's PyTorch was built for NumPy 1 and says so on stderr; tensors still pass by DLPack.
link_debian_torch() {
  local debian=/usr/lib/python3/dist-packages site
  [ "$(.venv/bin/python -c 'import sys; print(sys.base_prefix)')" = /usr ] || return 1
  scripts/install_dependencies.sh --without-torch python3-torch && [ -d "$debian/torch" ] || return 1
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  ln -s "$debian"/{torch,torchgen} "$site"
  .venv/bin/python -c 'import torch' 2>/dev/null
}

# The package's installation would start nginx as a service on port 80.
unpack_nginx() (
  mkdir .venv/nginx && cd .venv/nginx && apt-get -qq download nginx && dpkg -x nginx_*.deb . && rm nginx_*.deb && usr/sbin/nginx -v
)

if "${pip[@]}" --only-binary :all: --requirement "$torch" 2>/dev/null; then :
elif link_debian_torch; then echo "The package index offers no PyTorch for CPUs alone: the tests use Debian's, and those of its trainers are skipped"
else echo "PyTorch for CPUs is not to be had here: its tests will be skipped"
fi
# A separate folder, which one test uses. This torchvision is linked with CUDA and breaks programs that import it with a
# CPU-only torch.
"${pip[@]}" --no-deps --target .venv/torchvision --requirement "$torchvision" 2>/dev/null ||
  echo "torchvision is not to be had here: programs of the docs that use it will be skipped"
"${pip[@]}" --no-deps --requirement "$petastorm" 2>/dev/null ||
  echo "Petastorm is not to be had here: its tests will be skipped"
"${pip[@]}" --no-deps --requirement "$tensorboard" 2>/dev/null ||
  echo "torch-tb-profiler is not to be had here: its test will be skipped"
"${pip[@]}" --requirement "$albumentations" 2>/dev/null ||
  echo "Albumentations is not to be had here: programs of the docs that use it will be skipped"
{ scripts/install_dependencies.sh --without-torch libfuse2 && "${pip[@]}" --requirement "$fuse"; } 2>/dev/null ||
  echo "FUSE is not to be had here: tests of slow file systems will be skipped"
{ scripts/install_dependencies.sh --without-torch openmpi-bin && command -v mpirun >/dev/null; } 2>/dev/null ||
  echo "Open MPI is not to be had here: tests that start mpirun will be skipped"
{ scripts/install_dependencies.sh --without-torch strace && command -v strace >/dev/null; } 2>/dev/null ||
  echo "strace is not to be had here: the test that counts metadata calls will be skipped"
unpack_nginx 2>/dev/null ||
  echo "nginx is not to be had here: its tests will be skipped"
"${pip[@]}" --requirement "$stores" 2>/dev/null ||
  echo "moto is not to be had here: tests of object stores that ask it will be skipped"
"${pip[@]}" --requirement "$ray" 2>/dev/null ||
  echo "Ray is not to be had here: its tests will be skipped"
"${pip[@]}" --requirement "$site" 2>/dev/null ||
  echo "mkdocs is not to be had here: the site of docs/ will not be built"
echo "$wanted" >"$stamp"
