# The project's commands. CI runs these same targets, so what passes here passes there.

# Every folder with a go.mod: the library, and what is kept out of its requirements.
MODULES := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/testdata/*' -not -path './.git/*')))
# What is built for, besides the machine's own platform.
PLATFORMS := darwin/arm64 darwin/amd64 windows/amd64

# Given to go test, such as: make test TESTFLAGS='-run TestParse -v'
TESTFLAGS ?=
# Given to the bench, such as: make bench BENCHFLAGS='-h'
BENCHFLAGS ?=
BINDIR ?= $(if $(PREFIX),$(PREFIX)/bin,$(or $(shell go env GOBIN),$(shell go env GOPATH)/bin))

export GOWORK = off

# $(call each,COMMAND) runs COMMAND in the folder of every module, and fails at the end if it failed in one.
each = @status=0; for module in $(MODULES); do echo "\# $$module" >&2; (cd $$module && $(1)) || status=1; done; exit $$status
# $(call packages,TEMPLATE,COMMAND) runs COMMAND with what the template says of the module's packages, if anything:
# a module may only name tools.
packages = packages=$$(go list -f '$(1)' ./...) && { [ -z "$$packages" ] || $(2) $$packages; }

.PHONY: help
help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 16

# Without C: with it the linker exports every symbol to libraries that there are none of, and each process maps them.
GOBUILD = CGO_ENABLED=0 go build -trimpath -ldflags='-s -w'

.PHONY: build
build: ## build the plugin into bin/
	$(GOBUILD) -o bin/ ./kubectl-pharos
	@printf '#!/bin/sh\nexec kubectl pharos __complete "$$@"\n' >bin/kubectl_complete-pharos
	@chmod 755 bin/kubectl_complete-pharos

.PHONY: install
install: build ## install the plugin and its completion into BINDIR (or PREFIX/bin), a folder of your PATH
	mkdir -p '$(DESTDIR)$(BINDIR)'
	install -m 755 bin/kubectl-pharos bin/kubectl_complete-pharos '$(DESTDIR)$(BINDIR)'

.PHONY: peers
peers: ## build the programs that tests run beside Pharos: minutes, once
	@go run ./internal/devenv/build >&2

.PHONY: test
test: peers ## run all tests of all modules with the race detector
	$(call each,$(call packages,$(TESTED),go test -race -p $(AT_ONCE) -timeout $(TIMEOUT) $(TESTFLAGS)))
# A package takes longer with the larger sizes. What waits for the machine's real node, of which there is one, counts.
TIMEOUT = $(if $(filter full,$(PHAROS_TEST_SIZE)),90m,30m)
# How many packages are tested at once. One more than there are processors, since one or another waits for that node.
AT_ONCE = $(shell expr 1 + $$(getconf _NPROCESSORS_ONLN))
# Only packages with tests: the race detector has all that a package links compiled once more.
TESTED = {{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}

.PHONY: quickstart
quickstart: ## tell the story of the README on a cluster of its own
	@echo "compiling the quickstart, which takes about a minute the first time" >&2
	go run ./examples/quickstart

.PHONY: bench
bench: ## print what Pharos costs beside its peers
	go run ./internal/bench $(BENCHFLAGS)

.PHONY: lint
lint: format vet staticcheck ## all that reads the code without running it

.PHONY: format
format: ## list files that gofmt would change
	@files=$$(gofmt -l .) && { [ -z "$$files" ] || { echo "$$files"; exit 1; }; }

.PHONY: vet
vet: ## go vet
	$(call each,$(call packages,{{.ImportPath}},go vet))

.PHONY: staticcheck
staticcheck: ## staticcheck, in the version of internal/tools
	@cd internal/tools && go build -o $(CURDIR)/bin/ honnef.co/go/tools/cmd/staticcheck
	$(call each,$(call packages,{{.ImportPath}},$(CURDIR)/bin/staticcheck))

.PHONY: modules
modules: ## go.mod and go.sum say what the code needs, and the downloads are what they were
	$(call each,go mod tidy -diff && go mod verify)

.PHONY: platforms
platforms: ## build the library and the plugin, and read its tests, for the other platforms
	@status=0; for platform in $(PLATFORMS); do echo "# $$platform" >&2; \
	  export GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0; \
	  go build ./... && go vet ./... || status=1; done; exit $$status

.PHONY: licenses
licenses: ## name the licences of all linked modules
	@cd internal/tools && go run ./licenses -C $(CURDIR)

.PHONY: archives
archives: build ## build what is released, one archive for each platform, into bin/release
	@rm -rf bin/release
	@set -e; for platform in linux/amd64 linux/arm64 $(PLATFORMS); do echo "# $$platform" >&2; \
	  export GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
	  dir=bin/release/kubectl-pharos_$${GOOS}_$$GOARCH; mkdir -p $$dir; \
	  $(GOBUILD) -o $$dir/ ./kubectl-pharos; \
	  cp LICENSE README.md CHANGELOG.md bin/kubectl_complete-pharos $$dir; \
	  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$(git log -1 --format=%ct) -C $$dir -c . | gzip -n >$$dir.tar.gz; \
	  rm -r $$dir; done
	@cd bin/release && sha256sum *.tar.gz >checksums.txt
