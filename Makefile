# Each goal is one line that calls python. make reports every failure as its own status 2: the last line printed says the status in words.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin/python
STAMP := $(VENV)/.installed

# `make chapter 6`: the 6 is a goal of its own for make. It is taken as N, and anything else is an error before a command runs.
VERBS := chapter judge hint diff reset notebook watch
KNOWN := help setup models next list doctor gradescope build check test clean $(VERBS)
FIRST := $(firstword $(MAKECMDGOALS))
REST := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))

ifneq ($(filter $(FIRST),$(VERBS)),)
  ifneq ($(REST),)
    N := $(firstword $(REST))
    ifneq ($(words $(REST)),1)
      $(error make $(FIRST) takes one number, for example: make $(FIRST) 6)
    endif
    ifneq ($(shell printf '%s' '$(N)' | tr -d 0-9),)
      $(error make $(FIRST) takes a number, not '$(N)')
    endif
    $(eval .PHONY: $(N))
    $(eval $(N): ; @:)
  endif
  ifeq ($(N)$(filter watch,$(FIRST)),)
    $(error which one? For example: make $(FIRST) 6)
  endif
else
  UNKNOWN := $(filter-out $(KNOWN),$(MAKECMDGOALS))
  ifneq ($(filter-out $(BIN) $(STAMP),$(UNKNOWN)),)
    $(error unknown goal '$(firstword $(UNKNOWN))'; `make` alone shows what there is)
  endif
endif

.PHONY: $(KNOWN)

help: ## this text
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

$(STAMP): requirements.lock
	@$(PYTHON) judge/setup.py

setup: $(STAMP) ## create .venv, install, write the models (about two minutes, once)
	@$(BIN) models/fetch.py

models: setup

chapter: setup ## make chapter 6: judge chapter 6 and run its main.py on your tree
	@$(BIN) judge/run.py $(N) --main

judge: $(STAMP) ## make judge 190: judge one exercise (or a chapter)
	@$(BIN) judge/run.py $(N)

watch: $(STAMP) ## make watch 190: judge it at every save (without a number: the first that is not done)
	@$(BIN) judge/run.py $(or $(N),next) --watch

next: $(STAMP) ## judge the first exercise that is not done
	@$(BIN) judge/run.py next

hint: $(STAMP) ## make hint 190: the next hint
	@$(BIN) judge/run.py $(N) --hint

diff: $(STAMP) ## make diff 190: your file against the skeleton
	@$(BIN) judge/run.py $(N) --diff

reset: $(STAMP) ## make reset 190: the skeleton again (yours is backed up)
	@$(BIN) judge/run.py $(N) --reset

notebook: setup ## make notebook 6: open the chapter's notebook in JupyterLab
	@$(BIN) judge/setup.py --notebook $(N)

list: $(STAMP) ## all exercises and where you are
	@$(BIN) judge/run.py --list

doctor: ## what is installed, what is missing, and the mend
	@$(or $(wildcard $(BIN)),$(PYTHON)) judge/doctor.py

gradescope: $(STAMP) ## for instructors: build/gradescope.zip, an autograder for all exercises
	@$(BIN) judge/gradescope.py

build: setup ## for authors: write what is generated
	@$(BIN) judge/build.py

check: setup ## for authors: every solution, skeleton, wrong and right solution gets its verdict
	@$(BIN) judge/check.py

test: setup ## for authors: everything that must hold before a change lands
	@$(BIN) judge/setup.py --test

clean: ## remove caches (your work and .venv stay)
	@rm -rf .cache .pytest_cache .ruff_cache $$(find . -name __pycache__ -not -path './.venv/*')
