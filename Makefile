# Watchbook. `make help` lists what can be made.
SHELL := /bin/bash
PY := .venv/bin/python
PYTEST := .venv/bin/pytest
ONCE ?=
# Tests and benches start hundreds of processes; each would compile the house anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env demo up test test-all test-sqlite test-mariadb test-secrets test-n8n lint format browser crash bench messages pins docs clean

help: ## this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

env: .venv/.ready ## the environment: plain venv, hashed pins

.venv/.ready: requirements/dev.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@echo "$(CURDIR)" > .venv/lib/python$$($(PY) -c 'import sys; print("%d.%d" % sys.version_info[:2])')/site-packages/watchbook-dev.pth
	@printf '#!/bin/sh\nexec "%s/.venv/bin/python" -m watchbook "$$@"\n' "$(CURDIR)" > .venv/bin/watchbook && chmod +x .venv/bin/watchbook
	@touch $@

demo: env ## a whole Watchbook with stand-in sites on http://127.0.0.1:8000 (ONCE=1: one round, a table, exit)
	$(PY) -m standins.demo $(if $(ONCE),--once)

up: env ## real use: Watchbook on http://127.0.0.1:8000, data in WATCHBOOK_HOME
	$(PY) -m watchbook up

test: env ## the whole suite on SQLite and PostgreSQL; browser tests where a Chromium is found
	$(PY) -m tests.run sqlite postgres

test-all: env ## the same, and MariaDB and RabbitMQ where they answer
	$(PY) -m tests.run sqlite postgres mariadb

test-sqlite: env ## the suite on SQLite only
	$(PY) -m tests.run sqlite

test-mariadb: env ## what touches a database, on MariaDB only
	WATCHBOOK_TEST_ONLY_DATABASE=on $(PY) -m tests.run mariadb

test-secrets: env ## the suite at debug level; every secret a test makes is searched for in what it leaves
	$(PYTEST) -q -n 2 --dist loadgroup -p tests.security.secrets.everywhere -m "not browser"

browser: env ## only the tests that drive a real Chromium
	$(PYTEST) -m browser -q

test-n8n: env ## a real n8n from the npm registry runs our workflows; 2 GB and twenty minutes
	$(PY) -m tests.n8n

crash: env ## kill everything at every point; prints a ledger
	$(PY) -m tests.crash

bench: env .venv-bench/.ready ## side by side with peers; prints ratios
	$(PY) -m bench

.venv-bench/.ready: requirements/bench.txt
	python3 -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $@

lint: env ## ruff, format, import contracts, types
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports --no-cache
	.venv/bin/mypy

format: env ## let ruff write
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

messages: env ## compile the translations
	$(PY) -m watchbook.base.text.po watchbook

pins: env ## write requirements/*.txt anew from pyproject.toml
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate pyproject.toml -o requirements/base.txt
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate pyproject.toml --group dev -c requirements/base.txt -o requirements/dev.txt
	.venv/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate pyproject.toml --group dev --group bench -c requirements/dev.txt -o requirements/bench.txt

docs: env ## write the generated parts of docs/reference
	$(PY) -m tests.docs.generate

clean: ## remove what make made; data of `make up` stays
	rm -rf .venv .venv-bench var .pytest_cache .mypy_cache .ruff_cache .hypothesis
