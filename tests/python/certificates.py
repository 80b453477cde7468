"""Certificates for servers of tests, by openssl."""

import subprocess


class Authority:
    """Signs certificates in `folder`; `file` is what trusts them."""

    def __init__(self, folder):
        self.folder, self.file = folder, folder / "ca.pem"
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "10",
                     "-subj", "/CN=ca")  # fmt: skip

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, cwd=self.folder, capture_output=True)

    def made(self, name, alternative, *period):
        """(certificate, key) of a server that is called `alternative` ("IP:127.0.0.1"); `period`: other than five days."""
        self.openssl(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.req",
            "-subj",
            f"/CN={name}",
        )
        (self.folder / f"{name}.ext").write_text(f"subjectAltName={alternative}\n")
        self.openssl("x509", "-req", "-in", f"{name}.req", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.pem",
                     "-extfile", f"{name}.ext", *(period or ("-days", "5")))  # fmt: skip
        return self.folder / f"{name}.pem", self.folder / f"{name}.key"
