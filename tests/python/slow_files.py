"""Usage: slow_files.py SOURCE MOUNT SECONDS

Mounts a folder once more, through FUSE: every read of a file takes so much longer, however many there are at once, and none
comes from the page cache."""

import contextlib
import os
import subprocess
import sys
import time

import pytest


@contextlib.contextmanager
def mounted(source, mount, seconds):
    """Within it `mount` is `source`, slower. Skips the test where that cannot be had."""
    try:
        import fuse  # noqa: F401
    except (ImportError, OSError) as error:  # the latter: libfuse is not there
        pytest.skip(f"FUSE: {error}; install libfuse2 and run scripts/python_environment.sh")
    mount.mkdir()
    server = subprocess.Popen([sys.executable, __file__, source, mount, str(seconds)], stderr=subprocess.PIPE)
    try:
        for _ in range(400):
            if os.path.ismount(mount) or server.poll() is not None:
                break
            time.sleep(0.05)
        if not os.path.ismount(mount):
            server.kill()
            pytest.skip(f"FUSE: {server.stderr.read().decode().strip()}; allow mounting, which containers may forbid")
        yield mount
    finally:
        for unmount in (["umount", mount], ["fusermount", "-u", mount], ["umount", "-l", mount]):
            if not os.path.ismount(mount):
                break
            with contextlib.suppress(OSError):
                subprocess.run(unmount, stderr=subprocess.DEVNULL, check=False)
        server.kill()
        server.wait()
        server.stderr.close()


def serve(source, mount, seconds):
    import fuse

    class Slow(fuse.Operations):
        def getattr(self, path, handle=None):
            status = os.lstat(source + path)
            return {
                name: getattr(status, name)
                for name in dir(status)
                if name.startswith("st_") and not name.endswith("_ns")
            }

        def readdir(self, path, handle):
            return [".", "..", *os.listdir(source + path)]

        def open(self, path, flags):
            return os.open(source + path, flags)

        def release(self, path, handle):
            os.close(handle)
            return 0

        def read(self, path, size, offset, handle):
            time.sleep(seconds)
            return os.pread(handle, size, offset)

    fuse.FUSE(Slow(), mount, foreground=True, direct_io=True, ro=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], float(sys.argv[3]))
