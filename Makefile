# Watchbook. `make help` lists what can be made.
SHELL := /bin/bash
PY := .venv/bin/python
PYTEST := .venv/bin/pytest
# The environment of the source tree has what several machines need, the image has every extra.
EXTRAS := --extra postgres --extra mysql --extra celery --extra apprise
ONCE ?=
ALSO ?=
PORT ?= 8000
# Tests and benches start hundreds of processes; each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env demo up test test-all test-sqlite test-mariadb test-nightly test-secrets test-n8n test-oidc test-hosts test-move lint lint-types lint-rest format browser crash outages bench messages editor pins docs upgrade-fixture site release hooks check clean

help: ## this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

env: .venv/.ready ## the environment: plain venv, hashed pins

.venv/.ready: requirements/dev.txt
	@echo "Installing packages into .venv, about 2 minutes …"
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@echo "$(CURDIR)" > .venv/lib/python$$($(PY) -c 'import sys; print("%d.%d" % sys.version_info[:2])')/site-packages/watchbook-dev.pth
	@printf '#!/bin/sh\nexec "%s/.venv/bin/python" -m watchbook "$$@"\n' "$(CURDIR)" > .venv/bin/watchbook && chmod +x .venv/bin/watchbook
	@$(PY) -m watchbook.core.ops.first_database
	@touch $@

demo: env ## a complete server with stand-in sites on http://127.0.0.1:8000 (PORT=8010; ONCE=1: one round, a table, exit)
	$(PY) -m standins.demo --port $(PORT) $(if $(ONCE),--once)

up: env ## real use: Watchbook on http://127.0.0.1:8000, data in WATCHBOOK_HOME
	$(PY) -m watchbook up

test: env ## the suite on SQLite, and beside it on PostgreSQL what depends on the database; browser tests where a Chromium is found
	$(PY) -m tests.run sqlite postgres $(ALSO)

test-all: ALSO := mariadb
test-all: test ## the same, and MariaDB where it answers

test-sqlite: env ## the suite on SQLite only
	$(PY) -m tests.run sqlite

test-mariadb: env ## what depends on the database, on MariaDB only
	$(PY) -m tests.run mariadb

test-nightly: env ## everything: long tests, all databases whole, 100 random examples, the long crash test
	$(PY) -m tests.run --nightly sqlite postgres mariadb

test-secrets: env ## the suite at debug level; every secret a test makes is searched for in what it leaves
	$(PYTEST) -q -n 2 --dist loadgroup -p tests.security.secrets.plugin -m "not browser"

browser: env ## only the tests that drive a real Chromium
	$(PYTEST) -m browser -q

test-n8n: env ## a real n8n from the npm registry runs our workflows; 2 GB and twenty minutes
	$(PY) -m tests.n8n

test-oidc: env ## our sign-in against oidc-provider from the npm registry; two minutes
	$(PY) -m tests.oidc

test-hosts: env ## every process on a host of its own (network namespaces, needs root); kills, a cut link, a lost disk; half an hour
	$(PY) -m tests.hosts

test-move: env ## a demo grown to 1,000,000 rows, moved in all six directions and killed on the way; an hour
	$(PY) -m tests.moves

crash: env ## kill everything at every point; prints a ledger
	$(PY) -m tests.crash

outages: env ## real processes for ten minutes while every stand-in fails at random; prints a ledger (DURATION=600 SEED=1)
	$(PY) -m tests.outages $(if $(DURATION),--seconds $(DURATION)) $(if $(SEED),--seed $(SEED))

bench: env .venv-bench/.ready ## side by side with peers; prints ratios
	$(PY) -m bench

.venv-bench/.ready: requirements/bench.txt
	python3 -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $@

lint: lint-types lint-rest ## ruff, format, import contracts, templates, types (`make -j2 lint`: types beside the rest)

lint-types: env
	.venv/bin/mypy

lint-rest: env
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports --no-cache
	@# With --quiet djlint fails without saying why.
	.venv/bin/djlint watchbook --check --lint --quiet || (.venv/bin/djlint watchbook --check --lint; exit 1)

format: env ## let ruff and djlint write
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	.venv/bin/djlint watchbook --reformat --quiet

messages: env ## add missing entries to the translations, remove unused ones, compile
	$(PY) -m tests.i18n.catalogues

editor: ## bundle the library's editor with npm and esbuild; the result is committed, so only its authors need node
	mkdir -p build/editor
	cp watchbook/systems/library/editor/{package.json,package-lock.json,.npmrc} build/editor/
	npm ci --prefix build/editor --no-audit --no-fund --ignore-scripts
	node watchbook/systems/library/editor/build.mjs $(CURDIR)/build/editor/node_modules watchbook/systems/library/static/library

pins: env ## write requirements/*.txt anew from pyproject.toml
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate $(EXTRAS) pyproject.toml -o requirements/base.txt
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate $(EXTRAS) pyproject.toml --group dev -c requirements/base.txt -o requirements/dev.txt
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --all-extras pyproject.toml -c requirements/dev.txt -o requirements/image.txt
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate $(EXTRAS) pyproject.toml --group dev --group bench -c requirements/dev.txt -o requirements/bench.txt
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate $(EXTRAS) pyproject.toml --group docs --group release -c requirements/dev.txt -o requirements/docs.txt

docs: env ## write the generated parts of docs/reference, and the digests of new migrations
	$(PY) -m tests.docs.generate

upgrade-fixture: env ## NAME=version: keep a database of each kind as it is now; the suite upgrades it from then on
	$(PY) -m tests.upgrades $(NAME)

site: .venv-docs/.ready ## docs/ as a site with search, in English and Chinese, in build/site
	.venv-docs/bin/mkdocs build --quiet --strict

release: env .venv-docs/.ready ## check version and changelog, build sdist and wheel, try them in an empty environment
	$(PY) -m scripts.release

.venv-docs/.ready: requirements/docs.txt
	python3 -m venv .venv-docs
	.venv-docs/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	@touch $@

hooks: env ## run the checks of .pre-commit-config.yaml before every commit (needs pre-commit)
	pre-commit install

check: env ## SOURCE=name: lint and tests of one system
	.venv/bin/ruff check watchbook/systems/$(SOURCE)
	.venv/bin/ruff format --check watchbook/systems/$(SOURCE)
	.venv/bin/djlint watchbook/systems/$(SOURCE) --check --lint --quiet
	.venv/bin/lint-imports --no-cache
	.venv/bin/mypy watchbook/systems/$(SOURCE)
	$(PY) -m watchbook check
	$(PYTEST) -q watchbook/systems/$(SOURCE) tests/i18n

clean: ## remove what make made; data of `make up` stays
	rm -rf .venv .venv-bench .venv-docs build var .pytest_cache .mypy_cache .ruff_cache .hypothesis
