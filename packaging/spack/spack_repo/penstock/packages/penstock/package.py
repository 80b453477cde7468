import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Penstock(CMakePackage):
    """penstock is a data loader for ML training, with a C++ core and a Python API. The loader
    reads image folders, WebDataset tars, HDF5, LMDB, TFRecord and MDS, and delivers ready batches
    to PyTorch."""

    # The source distribution that scripts/release.sh makes. Run spack in its folder.
    manual_download = True

    license("Apache-2.0")

    version("0.1.0")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/penstock-{version}.tar.gz"

    variant("python", default=True, description="Build the Python package")
    variant("cuda", default=False, description="Decode, transform and copy on NVIDIA GPUs")
    variant("stores", default=True, description="Read and write object stores")
    variant("liburing", default=True, description="Read with io_uring")
    variant("webp", default=True, description="Decode WebP images")
    variant("blosc", default=True, description="Decompress blosc blocks of HDF5")
    variant("bzip2", default=True, description="Decompress bzip2 blocks of HDF5")
    variant("lz4", default=True, description="Decompress lz4 blocks of HDF5")
    variant("zstd", default=True, description="Decompress zstd blocks of HDF5 and shards of MDS")

    depends_on("c", type="build", when="+cuda")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2.1.2:", type="build")
    depends_on("nlohmann-json@3.10:", type="build")

    depends_on("tbb")
    depends_on("intel-oneapi-tbb@2021.8:", when="^[virtuals=tbb] intel-oneapi-tbb")
    depends_on("intel-tbb@2021.8:", when="^[virtuals=tbb] intel-tbb")
    depends_on("libjpeg-turbo@2.1:")
    depends_on("libspng@0.7.2:")
    depends_on("libdeflate@1.14:")
    depends_on("zlib-api")
    depends_on("highway@1.0.3:")
    depends_on("lmdb@0.9.24:")
    depends_on("hdf5@1.10:1.14")

    depends_on("liburing@2.3:", when="+liburing")
    depends_on("libwebp@1.2.4:", when="+webp")
    depends_on("c-blosc@1.21:", when="+blosc")
    depends_on("bzip2@1.0.8:", when="+bzip2")
    depends_on("lz4@1.9:", when="+lz4")
    depends_on("zstd@1.5:", when="+zstd")
    with when("+stores"):
        depends_on("curl@7.84: tls=openssl")
        depends_on("openssl@1.1.1:")
        depends_on("expat@2.4:")
    depends_on("cuda@12.5:", when="+cuda")
    with when("+python"):
        extends("python@3.9:")
        depends_on("py-nanobind@2.4:", type="build")

    conflicts("%gcc@:10", msg="penstock needs C++20, so GCC 11 or newer")

    def cmake_args(self):
        # Libraries of the system must not replace those that a variant leaves out.
        optional = {
            "libcurl": "+stores",
            "liburing": "+liburing",
            "libwebp": "+webp",
            "blosc": "+blosc",
            "bzip2": "+bzip2",
            "lz4": "+lz4",
            "zstd": "+zstd",
        }
        without = [name for name, variant in optional.items() if not self.spec.satisfies(variant)]
        args = [
            self.define_from_variant("PENSTOCK_BUILD_PYTHON", "python"),
            self.define_from_variant("PENSTOCK_CUDA", "cuda"),
            self.define("PENSTOCK_BUILD_TESTS", False),
            self.define("PENSTOCK_BUILD_TORCH", False),
            self.define("PENSTOCK_WITHOUT", without),
        ]
        if self.spec.satisfies("+python"):
            args.append(self.define("Python_EXECUTABLE", self.spec["python"].command.path))
        return args
