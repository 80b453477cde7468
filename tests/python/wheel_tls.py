"""Usage: python wheel_tls.py --serve FOLDER | --read ADDRESS
What check_wheel.py asks of the part of a wheel that reads web servers: check_tls(). --serve: a web server with ranges whose
certificate no system knows, on a port that is printed; --read: the digest of the dataset at an address, with Python's own TLS in use before
and after. Each is a process of its own, since what the environment says of certificates is read once."""

import contextlib
import functools
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys

CERTIFICATES = pathlib.Path(__file__).parent / "certificates"
AUTHORITY = str(CERTIFICATES / "authority.pem")
NAME_IN_FOLDER = "0b130605.0"  # `openssl x509 -hash` of the authority: how OpenSSL finds it in a folder
OF_SYSTEMS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
)
OF_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE")


class Ranges(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = pathlib.Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        content = path.read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        begin, end = (int(asked[1]), int(asked[2] or len(content) - 1) + 1) if asked else (0, len(content))
        if asked and begin >= len(content):
            return self.send_error(416)
        end = min(end, len(content))
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(end - begin))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("Accept-Ranges", "bytes")
        if asked:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[begin:end])

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def serve(folder):
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=folder))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def read(address):
    """Python's ssl has an OpenSSL of its own, with functions of the same names: neither may be taken for the other."""
    import ssl
    import urllib.request

    def with_python():
        context = ssl.create_default_context(cafile=AUTHORITY)
        with urllib.request.urlopen(f"{address}/penstock.json", context=context, timeout=60) as answer:
            return answer.read()

    before = with_python()
    from check_wheel import digest

    found = digest(address)
    assert with_python() == before, "Python's ssl reads something else after penstock did"
    print(found)


@contextlib.contextmanager
def server_of(folder):
    process = subprocess.Popen(
        [*python(), __file__, "--serve", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield f"https://localhost:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


runner = []  # put before programs, by check_wheel.py


def python():
    return [*runner, sys.executable]


def check_tls(folder, packed, expected, command):
    """`packed`: a packed dataset inside `folder`, with the digest `expected`."""
    known = pathlib.Path(folder) / "known"
    known.mkdir()
    shutil.copy(AUTHORITY, known / NAME_IN_FOLDER)
    own = {name: value for name, value in os.environ.items() if name not in OF_TRUST}
    own["no_proxy"] = "localhost"
    with server_of(folder) as root:
        address = f"{root}/{packed}"

        def run(words, trust):
            return subprocess.run(words, env={**own, **trust}, capture_output=True, text=True, timeout=600, check=False)

        reading = [*python(), __file__, "--read", address]
        for trust in ({"SSL_CERT_FILE": AUTHORITY}, {"CURL_CA_BUNDLE": AUTHORITY}, {"SSL_CERT_DIR": str(known)}):
            done = run(reading, trust)
            assert done.stdout.strip() == expected, f"with {trust}: {done.stdout}{done.stderr}"
            done = run([*command, "info", address], trust)
            assert done.returncode == 0, f"the command, with {trust}: {done.stderr}"
        for trust in ({}, {"SSL_CERT_FILE": str(CERTIFICATES / "absent.pem")}):
            for words in (reading, [*command, "info", address]):
                done = run(words, trust)
                assert done.returncode != 0, f"{words} with {trust} trusts a server that nobody vouches for"
                assert "certificate" in done.stderr, f"with {trust}: {done.stderr}"
        for place in OF_SYSTEMS if may_mount() else ():  # of Debian, RHEL and SUSE, in an /etc that holds nothing else
            done = run([*in_an_etc_with(place), *command, "info", address.replace("localhost", "127.0.0.1")], {})
            assert done.returncode == 0, f"certificates in {place} are not found: {done.stderr}"


def in_an_etc_with(place):
    script = 'mount -t tmpfs none /etc; mkdir -p "${1%/*}"; cp "$2" "$1"; shift 2; exec "$@"'
    return ["unshare", "--mount", "sh", "-ec", script, "sh", place, AUTHORITY]


def may_mount():
    if shutil.which("unshare"):
        tried = subprocess.run([*in_an_etc_with("/etc/tried"), "true"], capture_output=True, check=False)
        if tried.returncode == 0:
            return True
    print("certificates of the system: not tried, because mounting needs root")
    return False


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        read(sys.argv[2])
