# make run    set up everything that is needed and open Headlight in the browser
# make help   the other targets

PYTHON ?= python3
PORT ?=
# This machine's address in a network, to let others use the app; left empty, it is for this machine only.
ADDRESS ?=
# Where PyTorch comes from: empty lets scripts/install.py choose, "pip" is pip's own index, or an address.
TORCH_INDEX ?=
# Processes of make serve; left empty, one per core.
WORKERS ?=
PYTEST_OPTIONS ?=

BIN := .venv/bin
PYTEST = $(BIN)/python -m pytest -n 3 --no-loadscope-reorder
OPEN_TO_OTHERS = --server.address $(ADDRESS) --browser.serverAddress $(ADDRESS) --server.allowedHosts $(ADDRESS)
export TORCH_INDEX
# Compiled modules are kept: the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE
# PyTorch's threads sleep while they wait for each other: spinning, they take the cores from the browser.
export OMP_WAIT_POLICY ?= PASSIVE
# What a run gives back is kept for the next one: asking the system for it anew takes a sixth of a run's time.
export MALLOC_TRIM_THRESHOLD_ ?= 268435456
export MALLOC_MMAP_THRESHOLD_ ?= 33554432

.DEFAULT_GOAL := run
.PHONY: run serve test test-more test-all parity fuzz shake kills soak hostile check format views bench screenshot tour clean help

run: .venv/.deps  ## open Headlight in the browser (PORT=8600 to choose the port)
	$(BIN)/python -m headlight $(if $(PORT),--server.port $(PORT)) $(if $(ADDRESS),$(OPEN_TO_OTHERS))

serve: .venv/.deps  ## serve many people with WORKERS=4 processes; needs HAProxy (docs/serving.md)
	$(BIN)/python -m headlight serve $(if $(WORKERS),--workers $(WORKERS)) \
		$(if $(PORT),--port $(PORT)) $(if $(ADDRESS),--address $(ADDRESS))

test: .venv/.deps-dev  ## run the tests, in Chromium too where there is one
	$(PYTEST) -m "not slow and not full" $(PYTEST_OPTIONS)

test-more: .venv/.deps-dev  ## run the slow tests that make test leaves out
	$(PYTEST) -m "slow and not full" $(PYTEST_OPTIONS)

test-all: .venv/.deps-dev  ## run every test, all combinations and the long random ones too
	$(PYTEST) $(PYTEST_OPTIONS)

parity: .venv/.deps-dev  ## compare every layout with its original again, for the table in docs/checkpoints.md
	$(BIN)/python -m scripts.parity

fuzz: .venv/.deps-dev  ## break a million checkpoints at random and read them: each opens or is refused
	$(BIN)/python -m scripts.fuzz

shake: .venv/.deps-dev  ## change pages at random moments of a live training run, for an hour
	$(BIN)/python -m scripts.shake

kills: .venv/.deps-dev  ## kill the commands that write files a thousand times: what they leave is whole
	$(BIN)/python -m scripts.kills

soak: .venv/.deps-dev  ## serve twenty people for an hour while workers are killed and the disk is full
	$(BIN)/python -m scripts.soak

hostile: .venv/.deps-dev  ## attack the server while people use it: who notices?
	$(BIN)/python -m scripts.hostile

check: .venv/.deps-dev  ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m scripts.node check

format: .venv/.deps-dev  ## put the code into the agreed form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python -m scripts.node format

views: .venv/.deps-dev  ## build what the browser loads (headlight/browser) from viz/components; needs npm
	$(BIN)/python -m scripts.node build

bench: .venv/.deps-bench  ## measure Headlight and its peers, or PARTS=app,crowd of it; writes build/bench.json
	$(BIN)/python -m bench $(PARTS)

screenshot: .venv/.deps-dev  ## take the README's screenshot again
	$(BIN)/python -m scripts.screenshot

tour: .venv/.deps-dev  ## run docs/figures.ipynb again, with its pictures
	$(BIN)/python -m scripts.tour

clean:  ## remove what the other targets made
	rm -rf .venv node_modules build bench/cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*##/make \1\t/p' Makefile | expand -t 18

.venv/.deps: requirements.txt pyproject.toml
	$(PYTHON) scripts/install.py requirements.txt
	@touch $@

.venv/.deps-dev: requirements-dev.txt .venv/.deps
	$(PYTHON) scripts/install.py requirements-dev.txt
	@touch $@

.venv/.deps-bench: requirements-bench.txt .venv/.deps-dev
	$(PYTHON) scripts/install.py requirements-bench.txt
	@touch $@
