#!/usr/bin/env python3
"""Usage: server.py FOLDER [--port N] [--tls CERTIFICATE KEY] [--seed N]

A web server over a folder, with ranges, HEAD and ETags, that misbehaves where it is asked to: what a path's first part tells
behind "~" is done to requests of it. "/~reset-body*2+latency=0.1/file" breaks the first two answers off and lets all wait. Each
fault is KIND[=VALUE][*TIMES][@PROBABILITY][:METHOD]; it concerns GET unless METHOD is another one or "any".

  latency=S       waits            trickle=N       N bytes a second       hang, hang-body    nothing more comes
  status=503      is the answer    retry=S         with Retry-After       refused            the connection ends at once
  reset           RST, no answer   reset-body      RST within the body    close-body         the body ends early
  short, long     the body has other bytes than asked for, and says so    length             says more than comes
  range, total    Content-Range is another one, or of another size        type               multipart instead
  etag            another ETag, whatever the request demands              weak, no-etag      a weak one, none
  ignore-range    all of the file, with 200                               chunked            no Content-Length
  chunked-long    more than asked for, chunked                            encoding           Content-Encoding: gzip
  no-length       the connection's end is the body's                      partial            half of the file with 206, where all was asked for
  garbage         no HTTP          headers         thousands of them      redirect=WHERE     same, loop, or an address
  spoiled         the body has other bytes than the file, which nobody can tell unless something else is wrong with the answer
  grow            the file's ETag and size are others from now on, and what the request demands is heeded

GET /_log gives the requests so far as JSON, GET /_clear forgets them. `struck` counts the faults that were done, by kind."""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import socket
import ssl
import struct
import threading
import time
import urllib.parse

FAULT = re.compile(
    r"(?P<kind>[a-z-]+)(=(?P<value>[^*@:+]*))?(\*(?P<times>\d+))?(@(?P<odds>[\d.]+))?(:(?P<method>[a-zA-Z]+))?$"
)
CHUNK = 1 << 16
OTHER_BYTES = bytes(byte ^ 0x5A for byte in range(256))


class Fault:
    def __init__(self, text):
        match = FAULT.match(text)
        if not match:
            raise ValueError(f"no fault: {text}")
        self.kind, self.value = match["kind"], match["value"] or ""
        self.left = int(match["times"]) if match["times"] else None
        self.odds = float(match["odds"]) if match["odds"] else 1.0
        self.method = (match["method"] or "GET").upper()

    def strikes(self, method, draw):
        if self.method not in (method, "ANY") or self.left == 0 or draw.random() >= self.odds:
            return False
        if self.left is not None:
            self.left -= 1
        return True


class Broken(Exception):
    """The connection is over."""


class Server:
    """Serves from threads of its own until it is left."""

    def __init__(self, folder, port=0, tls=None, seed=0):
        self.folder, self.draw, self.mutex = pathlib.Path(folder), random.Random(seed), threading.Lock()
        self.faults, self.log, self.grown, self.open = {}, [], set(), set()
        self.struck = collections.Counter()
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        self.listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.root = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.over = False
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.over = True
        self.listener.close()
        with self.mutex:
            for connection in self.open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def accept(self):
        while not self.over:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with self.mutex:
            self.open.add(connection)
        raw = connection
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
                with self.mutex:
                    self.open.discard(raw)
                    self.open.add(connection)
            held = b""
            while not self.over:
                while b"\r\n\r\n" not in held:
                    more = connection.recv(CHUNK)
                    if not more:
                        return
                    held += more
                head, held = held.split(b"\r\n\r\n", 1)
                lines = head.decode("latin-1").split("\r\n")
                method, target, _ = lines[0].split(" ")
                headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
                wanted = int(headers.get("content-length", 0))
                while len(held) < wanted:
                    held += connection.recv(CHUNK)
                held = held[wanted:]
                self.answer(connection, method, target, headers)
        except (OSError, Broken, ValueError):
            pass
        finally:
            with self.mutex:
                self.open.discard(connection)
                self.open.discard(raw)
            connection.close()

    def faults_of(self, method, part):
        """Those that strike this request, by kind."""
        with self.mutex:
            if part not in self.faults:
                self.faults[part] = [Fault(text) for text in part[1:].split("+")]
            strike = {fault.kind: fault.value for fault in self.faults[part] if fault.strikes(method, self.draw)}
            self.struck.update(strike.keys())
            return strike

    def answer(self, connection, method, target, headers):
        url = urllib.parse.urlsplit(target)
        path = urllib.parse.unquote(url.path)
        if path == "/_log" or path == "/_clear":
            with self.mutex:
                text = json.dumps(self.log).encode()
                if path == "/_clear":
                    self.log.clear()
            self.send(connection, 200, {"Content-Length": len(text)}, text)
            return
        with self.mutex:
            self.log.append({"method": method, "path": path, "query": url.query, "headers": headers, "at": time.time()})
        parts = url.path.lstrip("/").split("/")
        strike = {}
        if parts[0].startswith("~"):
            strike = self.faults_of(method, parts.pop(0))
        parts = [urllib.parse.unquote(part) for part in parts]
        self.misbehave(connection, strike)
        if "redirect" in strike:
            self.redirect(connection, strike["redirect"], target, "/".join(parts), url.query)
            return
        if "status" in strike:
            body = b"<Error><Code>Faulty</Code><Message>as it was told to</Message></Error>"
            own = {"Content-Length": len(body)}
            if "retry" in strike:
                own["Retry-After"] = strike["retry"]
            self.send(connection, int(strike["status"]), own, b"" if method == "HEAD" else body)
            return
        file = self.folder / "/".join(parts)
        if ".." in parts or not file.is_file():
            self.send(connection, 404, {"Content-Length": 0}, b"")
            return
        self.give(connection, method, headers, file, strike)

    def misbehave(self, connection, strike):
        """Before any answer."""
        if "latency" in strike:
            time.sleep(float(strike["latency"]))
        if "hang" in strike:
            while not self.over:
                time.sleep(0.05)
            raise Broken
        if "refused" in strike:
            raise Broken
        if "reset" in strike:
            self.reset(connection)
        if "garbage" in strike:
            connection.sendall(b"\x00\xff nothing that HTTP knows\r\n\r\n")
            raise Broken
        if "headers" in strike:
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(5000)) + b"\r\n")
            raise Broken

    def reset(self, connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Broken

    def redirect(self, connection, where, target, path, query):
        tail = path + ("?" + query if query else "")
        to = {"same": "/" + tail, "loop": target, "nowhere": ""}.get(where)
        if to is None:
            to = f"{urllib.parse.unquote(where)}/{tail}"
        self.send(connection, 302, {"Content-Length": 0, "Location": to}, b"")

    def give(self, connection, method, headers, file, strike):
        size, written = file.stat().st_size, file.stat().st_mtime_ns
        if "grow" in strike:
            self.grown.add(file)
        etag = '"' + hashlib.md5(f"{file.name} {size} {written} {file in self.grown}".encode()).hexdigest() + '"'
        if "etag" in strike:
            etag = '"another"'
        elif headers.get("if-match", etag) != etag:
            self.send(connection, 412, {"Content-Length": 0, "ETag": etag}, b"")
            return
        own = {"ETag": etag, "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Accept-Ranges": "bytes"}
        if "weak" in strike:
            own["ETag"] = "W/" + etag
        if "no-etag" in strike:
            del own["ETag"]
        first, end, status = 0, size, 200
        asked = re.match(r"bytes=(\d+)-(\d*)$", headers.get("range", ""))
        if asked and "ignore-range" not in strike:
            first, end, status = int(asked[1]), min(int(asked[2] or size - 1) + 1, size), 206
            if first >= size:
                self.send(connection, 416, {"Content-Length": 0, "Content-Range": f"bytes */{size}"}, b"")
                return
        elif "partial" in strike and not asked:
            end, status = size // 2, 206
        self.send_bytes(connection, method, file, (first, end, size, status), own, strike)

    def send_bytes(self, connection, method, file, which, own, strike):
        first, end, size, status = which
        if status == 206:
            shift = 1 if "range" in strike else 0
            total = size + 1 if "total" in strike else size
            own["Content-Range"] = f"bytes {first + shift}-{end - 1 + shift}/{total}"
        if "type" in strike:
            own.pop("Content-Range", None)
            own["Content-Type"] = "multipart/byteranges; boundary=x"
        if "encoding" in strike:
            own["Content-Encoding"] = "gzip"
        with open(file, "rb") as opened:
            opened.seek(first)
            body = opened.read(end - first) if method == "GET" else b""
        if "spoiled" in strike:
            body = body.translate(OTHER_BYTES)
        if "short" in strike:
            body = body[: len(body) // 2]
        if "long" in strike or "chunked-long" in strike:
            body += b"more than was asked for"
            if len(body) == end - first:  # both: other bytes of the right length are what nobody can tell
                body += b"!"
        length = len(body) if method == "GET" else end - first
        chunked = ("chunked" in strike or "chunked-long" in strike) and method == "GET"
        if chunked:
            own["Transfer-Encoding"] = "chunked"
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        elif "no-length" not in strike:
            own["Content-Length"] = length + (100 if "length" in strike else 0)
        self.send_head(connection, status, own)
        if method == "GET":
            self.send_body(connection, body, strike)
        if "no-length" in strike:
            raise Broken

    def send_body(self, connection, body, strike):
        half = len(body) // 2
        if "hang-body" in strike:
            connection.sendall(body[:half])
            while not self.over:
                time.sleep(0.05)
            raise Broken
        if "reset-body" in strike:
            connection.sendall(body[:half])
            time.sleep(0.01)
            self.reset(connection)
        if "close-body" in strike:
            connection.sendall(body[:half])
            raise Broken
        if "trickle" in strike:
            step = max(1, int(strike["trickle"]) // 20)
            for at in range(0, len(body), step):
                if self.over:
                    raise Broken
                connection.sendall(body[at : at + step])
                time.sleep(0.05)
        else:
            connection.sendall(body)
        if "length" in strike:
            raise Broken

    def send_head(self, connection, status, own):
        lines = [f"HTTP/1.1 {status} as told", *(f"{name}: {value}" for name, value in own.items())]
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def send(self, connection, status, own, body):
        self.send_head(connection, status, own)
        if body:
            connection.sendall(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", nargs=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with Server(given.folder, given.port, given.tls, given.seed) as server:
        print(server.root, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    os.umask(0o077)
    main()
