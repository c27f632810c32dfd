"""python -m tests.oidc: install oidc-provider, sign in and out through it, print what was seen. Exit 1 on a fault."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx

from watchbook.base.testing.servers import free_port
from watchbook.core.ops.tests.processes import Running, run

VERSION = "9.13.3"
HERE = Path(__file__).resolve().parent
ONCE_A_MINUTE_SECONDS = 61  # Watchbook asks for unknown keys once a minute at most.
CLIENT = {"client_id": "watchbook", "client_secret": "made-up-client-secret-0123456789"}


def cache_folder() -> Path:
    given = os.environ.get("WATCHBOOK_OIDC_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "watchbook-oidc"


def install() -> Path:
    folder = cache_folder()
    package = folder / "node_modules" / "oidc-provider" / "package.json"
    if package.is_file() and json.loads(package.read_text())["version"] == VERSION:
        return folder
    if not shutil.which("npm"):
        raise SystemExit("npm is needed: oidc-provider comes from the npm registry.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    command = ["npm", "install", f"oidc-provider@{VERSION}", "--prefix", str(folder), "--no-audit", "--no-fund"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"npm could not install oidc-provider: {done.stderr[-1000:]}")
    return folder


class World:
    """A provider and a Watchbook, both real processes."""

    def __init__(self, home: Path, kit: Path) -> None:
        self.home, self.kit = home, kit
        self.provider, self.site = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.file = home / "provider.json"
        self.people: dict[str, dict[str, Any]] = {
            "ann": {"email": "ann@example.com", "email_verified": True, "groups": ["harbour", "operators"]},
            "ben": {"email": "ben@example.com", "email_verified": False},
        }
        self.env = {
            "WATCHBOOK_BIND": self.site.removeprefix("http://"),
            "WATCHBOOK_PUBLIC_URL": self.site,
            "WATCHBOOK_TRUSTED_HOSTS": self.provider.removeprefix("http://"),
            "WATCHBOOK_PACE": "off",
            "WATCHBOOK_OIDC_ISSUER": self.provider,
            "WATCHBOOK_OIDC_CLIENT_ID": CLIENT["client_id"],
            "WATCHBOOK_OIDC_CLIENT_SECRET": CLIENT["client_secret"],
            "WATCHBOOK_OIDC_GROUPS_CLAIM": "groups",
            "WATCHBOOK_OIDC_OPERATOR_GROUP": "operators",
        }

    def write(self, algorithm: str) -> None:
        back = {
            "redirect_uris": [f"{self.site}/accounts/oidc/callback/"],
            "post_logout_redirect_uris": [f"{self.site}/accounts/login/"],
        }
        port = int(self.provider.rpartition(":")[2])
        facts = {"port": port, "client": {**CLIENT, **back}, "algorithm": algorithm, "people": self.people}
        self.file.write_text(json.dumps(facts))

    @contextmanager
    def providing(self, algorithm: str) -> Iterator[None]:
        self.write(algorithm)
        process = subprocess.Popen(
            ["node", str(HERE / "provider.mjs"), str(self.kit), str(self.file)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            said = []
            for line in process.stdout:
                said.append(line)
                if "provider is ready" in line:
                    break
            else:
                raise AssertionError("".join(said))
            yield
        finally:
            process.terminate()
            process.wait(10)


def follow(browser: httpx.Client, answer: httpx.Response) -> httpx.Response:
    """Follow redirects between both sides, as a browser does."""
    for _ in range(20):
        if not answer.is_redirect:
            return answer
        answer = browser.get(urljoin(str(answer.url), answer.headers["location"]))
    raise AssertionError("too many redirects")


def sign_in(world: World, browser: httpx.Client, name: str) -> httpx.Response:
    """Open the way in; fill in the provider's own pages until the browser is back."""
    page = follow(browser, browser.get(f"{world.site}/accounts/oidc/?next=/account/"))
    for _ in range(4):
        if not str(page.url).startswith(world.provider):
            return page
        form = re.search(r'<form[^>]*action="([^"]+)"', page.text)
        prompt = re.search(r'name="prompt" value="([^"]+)"', page.text)
        assert form, page.text[:2000]
        assert prompt, page.text[:2000]
        given = {"prompt": prompt[1]} | ({"login": name, "password": "any"} if prompt[1] == "login" else {})
        page = follow(browser, browser.post(urljoin(str(page.url), form[1]), data=given))
    raise AssertionError(f"still at the provider: {page.url}")


def sign_out(world: World, browser: httpx.Client) -> None:
    """Sign out here, then at the provider by the link that the page offers."""
    page = browser.get(f"{world.site}/accounts/logout/")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token
    page = follow(
        browser,
        browser.post(
            f"{world.site}/accounts/logout/",
            data={"csrfmiddlewaretoken": token[1]},
            headers={"Referer": f"{world.site}/accounts/logout/"},
        ),
    )
    link = re.search(rf'href="({re.escape(world.provider)}/session/end[^"]+)"', page.text)
    assert link, f"no link to sign out at the provider on {page.url}"
    page = follow(browser, browser.get(link[1].replace("&amp;", "&")))
    form = re.search(r'<form[^>]*action="([^"]+)"', page.text)
    secret = re.search(r'name="xsrf" value="([^"]+)"', page.text)
    assert form, page.text[:1000]
    assert secret, page.text[:1000]
    answer = browser.post(urljoin(str(page.url), form[1]), data={"xsrf": secret[1], "logout": "yes"})
    assert answer.headers["location"] == f"{world.site}/accounts/login/", answer.headers


def browser() -> httpx.Client:
    return httpx.Client(timeout=120, headers={"Accept-Language": "en"})


def is_operator(world: World, client: httpx.Client) -> bool:
    return client.get(f"{world.site}/people/").status_code == 200


def scenes(world: World) -> Iterator[str]:
    with world.providing("RS256"):
        ann = browser()
        page = sign_in(world, ann, "ann")
        assert (page.status_code, "ann@example.com" in page.text) == (200, True), page.url
        assert is_operator(world, ann)
        yield "new account with PKCE, RS256 and the provider's own consent page; operator by the groups claim"

        page = sign_in(world, browser(), "ben")
        assert page.url.path == "/accounts/login/", page.url
        assert "did not verify your e-mail address" in page.text
        yield "an address that the provider did not verify is refused with the reason"

        world.people["ann"]["groups"] = ["harbour"]
        world.people["cleo"] = {"email": "cleo@example.com", "email_verified": True, "groups": ["operators"]}
        world.write("RS256")
        cleo, ann = browser(), browser()
        sign_in(world, cleo, "cleo")
        sign_in(world, ann, "ann")
        assert (is_operator(world, cleo), is_operator(world, ann)) == (True, False)
        yield "who left the operators' group at the provider is no operator after the next sign-in"

        sign_out(world, ann)
        page = follow(ann, ann.get(f"{world.site}/accounts/oidc/"))
        assert 'value="login"' in page.text, page.url
        yield "sign-out ends the session here and at the provider: the next sign-in asks for the name again"
    for algorithm in ("ES256", "EdDSA"):
        with world.providing(algorithm):
            page = sign_in(world, browser(), "ann")
            assert page.url.path == "/account/", page.text[:1500]
            yield f"{algorithm} with a key that was not there before (rotation): the same account"
            done = run(world.home, "doctor", "--json", **world.env)
            checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
            assert checks["sign_in"]["ok"], checks["sign_in"]
        time.sleep(ONCE_A_MINUTE_SECONDS if algorithm == "ES256" else 0)


def main() -> int:
    kit = install()
    with tempfile.TemporaryDirectory(prefix="watchbook-oidc-") as folder:
        world = World(Path(folder), kit)
        site = Running(Path(folder), "-m", "watchbook", "up", **world.env)
        try:
            site.wait_for("Watchbook is at")
            done = run(Path(folder), "users", "add", "first@example.com", "--operator", "--verified", **world.env)
            assert done.returncode == 0, done.stderr
            print(f"oidc-provider {VERSION}, Node {subprocess.check_output(['node', '-v'], text=True).strip()}")
            for line in scenes(world):
                print(f"  {line}")
        except AssertionError as fault:
            print(f"FAILED: {fault}\n{''.join(site.lines)[-2000:]}")
            return 1
        finally:
            site.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
