"""A loopback web server for the studies: nginx of Debian's nginx-light with one worker process."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

ECHO = "load_module /usr/lib/nginx/modules/ngx_http_echo_module.so;"
CONFIGURATION = """
{modules} {user} worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; daemon off;
events {{ worker_connections 1024; }}
http {{
  log_format ranges '$http_range $body_bytes_sent $uri';
  access_log {log}; sendfile on; tcp_nopush on; keepalive_requests 1000000; keepalive_timeout 600s;
  client_body_temp_path {folder}/tmp; proxy_temp_path {folder}/tmp; fastcgi_temp_path {folder}/tmp;
  uwsgi_temp_path {folder}/tmp; scgi_temp_path {folder}/tmp;
  server {{ listen 127.0.0.1:{port}; root {root}; {locations} }}
}}
"""
LATE = """
location ~ ^/late/(.*)$ {{ set $file $1; echo_sleep {latency}; echo_exec @file; }}
location @file {{ rewrite .* /$file break; }}
"""


class Nginx:
    """Serves `root` at `.address`, and at `.address`/late/ with `latency` seconds of delay. With `log`, `.log` has a
    line for each request: its range, the bytes of its body, and its path. `folder` is for the server's own files."""

    def __init__(self, folder, root, port, latency=None, log=False):
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        if program is None:
            sys.exit("nginx is required: apt-get install nginx-light")
        self.address, self.log = f"http://127.0.0.1:{port}", pathlib.Path(folder) / "access.log"
        configuration = pathlib.Path(folder) / "nginx.conf"
        configuration.write_text(
            CONFIGURATION.format(
                modules=ECHO if latency is not None else "",
                user="user root;" if os.getuid() == 0 else "",
                folder=folder,
                root=root,
                port=port,
                log=f"{self.log} ranges" if log else "off",
                locations="location / { }" if latency is None else LATE.format(latency=latency),
            )
        )
        self.process = subprocess.Popen([program, "-c", configuration, "-p", folder], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        if self.process.poll() is not None:
            sys.exit("nginx does not start: " + (pathlib.Path(folder) / "error.log").read_text()[-500:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
