# Every command of the project. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

ARGS ?=
RUN ?=
FUZZTIME ?= 30s
TOOL := go tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/axle-cd/axle/internal/buildinfo.Version=$(VERSION)
BINARIES := axle axle-hub axle-agent axle-operator axle-render axle-render-rare terraform-provider-axle

# Which packages run under the race detector: internal/archtest/race.txt (ADR 123).
PACKAGES = $(PLAIN) go run ./cmd/dev/packages
# Nobody debugs what only tests run; without the tables for that, linking takes two thirds and compiling a tenth less.
NODWARF := -ldflags=-w
COMPILED := -trimpath -gcflags=all=-dwarf=false
# All of their code but for SQLite's C, which is Go by translation: half of what the hub's tests cost (ADR 120).
UNWATCHED := -gcflags=all=-dwarf=false "-gcflags=modernc.org/sqlite/lib=-race=false -dwarf=false"
# Programs, tests and what they are compiled of are compiled alike, so that no package is compiled twice;
# test/kube/compile.sh has the same flags for the control plane.
PLAIN := GOFLAGS="$${GOFLAGS:-} $(COMPILED)" CGO_ENABLED=0
# Compilers with less garbage collection.
ROOMY := -toolexec="'$(CURDIR)/test/roomy.sh'"
# Runs a step of the tests, measures it, and runs a failed test once more (ADR 124).
SUITE := bin/suite
RACED = $(ROOMY) -race -vet=off $(UNWATCHED) $(NODWARF) -timeout=20m $(if $(RUN),-run='$(RUN)')

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1mmake %-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST) | sed -e "$$(test -t 1 || echo 's/\x1b\[[0-9;]*m//g')"

demo: deps kubedev $(if $(findstring --clusters,$(ARGS)),capidev) web build ## the whole world on one machine (ARGS=--exit ends it; ARGS='--repo PATH --folder F' takes your own; ARGS=--clusters makes clusters)
	@$(PLAIN) go run $(ROOMY) ./cmd/dev demo $(ARGS)

node: deps kubedev nodedev ## a real node with images of this checkout: kubelet, containerd, a registry; needs root (ARGS=--help tells more)
	@./test/deps.sh node
	@go run ./cmd/dev node $(ARGS)

test: export AXLE_PROGRAMS := built
test: suite ## everything that must hold (RUN=Name runs one test by name); ends with a table of what it took
	@$(SUITE) start
	@$(SUITE) control-plane -- $(MAKE) --no-print-directory deps kubedev capidev stores
	@$(SUITE) programs -- $(MAKE) --no-print-directory programs
	$(if $(RUN),,@echo "== the console")
	$(if $(RUN),,$(SUITE) console -- ./web/check.sh)
	@echo "== vet"
	$(PLAIN) $(SUITE) vet -- go vet $(ROOMY) -tags=soak ./...
	@echo "== tests under the race detector"
	packages=$$($(PACKAGES) raced); CGO_ENABLED=1 $(SUITE) race -- go test $(RACED) $$packages
	@echo "== the other tests"
	packages=$$($(PACKAGES) plain); $(PLAIN) $(SUITE) plain -- go test $(ROOMY) -vet=off $(NODWARF) -timeout=60m -parallel=4 $(if $(RUN),-run='$(RUN)') $$packages
	@$(SUITE) table --short

quick: suite ## the loop while you work, below 2 minutes: gofmt, archtest, vet, the tests that start nothing, the console's logic that changed
	@./test/quick.sh

attack: deps kubedev ## play the attacks of docs/security.md on a hub, one line each, 5 minutes (ARGS='--hub URL' takes a hub of yours, --list has their stories)
	@go run ./cmd/dev attack $(ARGS)

suite: ## build what runs the tests' steps into bin/suite
	@$(PLAIN) go build -o $(SUITE) ./cmd/dev/suite

race-all: deps kubedev capidev stores web ## all packages under the race detector, not only those of make test; records the commit in test/race-passed.txt
	packages=$$($(PACKAGES) all); CGO_ENABLED=1 go test $(RACED) $$packages
	$(if $(RUN),,@test -z "$$(git status --porcelain)" && git rev-parse HEAD > test/race-passed.txt || echo "not recorded: the checkout has changes")

programs: web ## build what tests start, with its variants, into bin/test/ (what did not change keeps its time)
	@GOFLAGS="$${GOFLAGS:-} $(COMPILED) \"-toolexec='$(CURDIR)/test/roomy.sh'\"" CGO_ENABLED=0 go run ./cmd/dev/programs

build: web ## build the programs into bin/
	@mkdir -p bin
	@$(PLAIN) go build $(ROOMY) -ldflags '$(LDFLAGS)' -o bin/ $(addprefix ./cmd/,$(BINARIES))

web: ## build the console into web/dist, which the hub serves (skipped while nothing changed)
	@./web/build.sh

release: export AXLE_WEB_REQUIRED := 1
release: docs web ## everything that a release publishes, into dist/release (KEY signs; TARGETS=linux/amd64 VERSION=1.4.2; ARGS=--help tells more)
	go run ./cmd/release make $(if $(KEY),--key '$(KEY)') $(if $(TARGETS),--targets '$(TARGETS)') $(if $(filter command line environment,$(origin VERSION)),--version '$(VERSION)') $(ARGS)

image-lock: ## take the newest Debian packages into the images: deploy/images/hub.lock
	go run ./cmd/release lock $(ARGS)

# The libraries of others that log in to the hub in tests.
PARTIES := test/oidc/node_modules/.package-lock.json
$(PARTIES): test/oidc/package-lock.json
	npm --prefix test/oidc ci --no-audit --no-fund

deps: $(PARTIES) ## install what the tests need beside Go, Node and git (Debian: by apt)
	@./test/deps.sh

kubedev: ## build the Kubernetes control plane of the test bed (once, cached by content)
	@./test/kube/build.sh

capidev: ## build the core manager of Cluster API for the test bed, half a minute after kubedev (once, cached by content)
	@./test/capi/build.sh

stores: ## build VictoriaLogs and kube-state-metrics for the test bed, 1 to 2 minutes (once, cached by content)
	@./test/stores/build.sh

nodedev: ## build the kubelet and kube-proxy of the real node (once, cached by content)
	@./test/kube/build.sh test/node/nodedev kubelet kube-proxy

opentofu: ## build OpenTofu for the soak, 4 minutes (once, cached by its versions)
	@./test/terraform/opentofu.sh

# With cold caches these would compile all packages once more than the tests did.
generate generate-code check-generated check-generated-code lint pages docs: export GOFLAGS := $(strip $(GOFLAGS) $(COMPILED))
generate generate-code check-generated check-generated-code lint pages docs: export CGO_ENABLED := 0

# buf comes as a program in a package of the console (ADR 122).
BUF := web/node_modules/.bin/buf
INSTALLED := web/node_modules/.package-lock.json
$(INSTALLED): web/package-lock.json
	npm --prefix web ci --no-audit --no-fund


UPDATE := go test -vet=off $(NODWARF) -count=1
# Committed files that tests compare with what they are made of, whenever they run, and write with -update.
PAGES := TestTodayIsRecorded|TestPagesAreListed|TestHookKnowsOurDefinitions|TestArchitectureHoldsTheRules|TestMetricsPageListsEveryMetric

generate: generate-code ## make all generated files anew
	$(UPDATE) ./test/skew ./test/kinds ./test/apidocs ./test/pages ./internal/archtest -run '^($(PAGES))$$' -update

generate-code: $(INSTALLED) ## the part of make generate that is compiled: protocols, kinds and their definitions
	$(UPDATE) ./api/spec/v1 ./test/kinds/lists -run '^(TestMessagesAreTheSpec|TestServicesOfKindsAreCurrent|TestRulesOfTheConsoleAreCurrent)$$' -update
	$(BUF) generate
	$(UPDATE) ./internal/removals -run '^TestTableOfRemovalsIsCurrent$$' -update
	$(UPDATE) ./test/kinds/lists -run '^(TestTypesOfKindsAreCurrent|TestListsAreCurrent|TestClientsOfKindsAreCurrent)$$' -update
	$(TOOL) controller-gen crd:allowDangerousTypes=true paths=./api/v1alpha1/... paths=./api/axle/... paths=./api/platform/... output:crd:dir=deploy/crds
	gofmt -w $$(git ls-files '*.go')

# Files that git knows may be gone.
gofmt: ## look for files that are not formatted
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ ! -e "$$f" ] || echo "$$f"; done)); \
	  test -z "$$files" || { printf 'not formatted; this mends it: gofmt -w %s\n' "$$(echo $$files)"; exit 1; }

# Their tests change one system and read another one.
RESTING := ./terraform ./test/attack ./test/capi/provider ./test/console ./test/e2e ./test/install ./test/operator ./test/proxy ./test/terraform ./test/world

lint: suite $(INSTALLED) ## look for what the compiler does not, and for what passes test/budgets.txt
	@$(MAKE) --no-print-directory gofmt
	go vet -tags=soak ./...
	go test -count=1 ./cmd/release -run TestProgramsFitEveryTarget
	$(BUF) lint
	$(TOOL) staticcheck -tags soak ./...
	go run ./cmd/dev/rest $(RESTING)
	@test -z "$$($(TOOL) deadcode -test -tags=soak -generated=false ./... | tee /dev/stderr)" || { echo "nothing reaches what is listed above: take it out"; exit 1; }
	@go mod tidy -diff > /dev/null || { echo "go.mod or go.sum is not tidy: run go mod tidy"; exit 1; }
	go test -count=1 ./internal/archtest ./test/pages
	@go test -count=1 -v ./internal/archtest -run 'TestSizes$$' | grep -E '^ |reported'
	@$(SUITE) budgets

check-generated: ## fail when a generated file was not committed
check-generated-code: ## the part of make check-generated that make test does not check
check-generated check-generated-code: $(INSTALLED)
	@./test/unchanged.sh $(MAKE) --no-print-directory $(subst generated,generate,$(@:check-%=%))
	@git diff --exit-code --stat && test -z "$$(git ls-files --others --exclude-standard api deploy docs web/src | tee /dev/stderr)" || { echo "generated files differ: commit the result of make generate"; exit 1; }

bench: kubedev build ## measure; results as a table and as JSON in test/benchmarks
	@go run ./cmd/dev bench $(ARGS)

bench-apply: kubedev ## a real agent and Flux on one API server (SERVICES CRDS CHATTY NAME CONTROLLERS=1)
	@go run ./cmd/dev bench-apply --services $(or $(SERVICES),500) --crds $(or $(CRDS),0) --chatty $(or $(CHATTY),0) \
	  $(if $(CONTROLLERS),--flux-controllers) $(if $(NAME),--name $(NAME)) $(ARGS)

bench-proxy: kubedev ## a cluster's API through hub and agent beside the API server itself, and beside other tunnels (REQUESTS WATCHES NAME)
	@go run ./cmd/dev bench-proxy --requests $(or $(REQUESTS),500) --watches $(or $(WATCHES),400) $(if $(NAME),--name $(NAME)) $(ARGS)

bench-push: kubedev ## from a webhook until three API servers have the change, 100 played agents beside (PUSHES AGENTS NAME)
	@go run ./cmd/dev bench-push --pushes $(or $(PUSHES),100) --agents $(or $(AGENTS),100) $(if $(NAME),--name $(NAME)) $(ARGS)

bench-operator: kubedev ## the operator with thousands of custom resources (CRS NAME)
	@go run ./cmd/dev bench-operator --crs $(or $(CRS),5000) $(if $(NAME),--name $(NAME)) $(ARGS)

bench-node: deps kubedev nodedev ## record the story of a release on a real node, 5 minutes; needs root
	@./test/deps.sh node
	@go run ./cmd/dev bench node $(ARGS)

bench-ui: deps kubedev stores web ## the console in a real browser: 100,000 services, graphs, live logs (CLUSTERS SERVICES NAME ONLY=list|observe)
	@go run ./cmd/dev bench-ui $(if $(ONLY),--only $(ONLY)) $(if $(CLUSTERS),--clusters $(CLUSTERS)) $(if $(SERVICES),--services $(SERVICES)) $(if $(NAME),--name $(NAME)) $(ARGS)

screenshots: deps kubedev web ## pictures of every page of the console in dist/screenshots, and the two of the README
	@for profile in small empty broken real; do OUT=$(CURDIR)/dist/screenshots go run ./cmd/dev console $$profile --run screenshots.mjs; done
	@OUT=$(CURDIR)/docs/images go run ./cmd/dev console broken --run readme.mjs

bench-shares: deps kubedev ## an administrator's calls and another project's delivery while every pool of a hub and an agent is full
	@go run ./cmd/dev bench shares $(ARGS)

bench-oidc: ## code flows with a session, and refreshes, per second and core
	@go run ./cmd/dev bench sign-ins $(ARGS)

bench-fanout: ## a change of a global service on thousands of clusters (CLUSTERS NAME)
	@go run ./cmd/dev bench-fanout --clusters $(or $(CLUSTERS),1000) $(if $(NAME),--name $(NAME)) $(ARGS)

bench-terraform: ## hundreds of services by the real terraform (RESOURCES NAME)
	@go run ./cmd/dev bench-terraform --resources $(or $(RESOURCES),500) $(if $(NAME),--name $(NAME)) $(ARGS)

bench-capi: deps kubedev capidev ## clusters from a template, with the core manager of Cluster API (CLUSTERS NAME)
	@go run ./cmd/dev bench-capi --clusters $(or $(CLUSTERS),10) $(if $(NAME),--name $(NAME)) $(ARGS)

bench-fleet: ## hub under a fleet (CLUSTERS SERVICES REPLICAS DURATION POLL COMMITS TOUCH DATABASE=postgres ALL=1 TUNNELS=1 KILL=1 NAME)
	@go build -o bin/dev ./cmd/dev
	@bin/dev bench-fleet --clusters $(or $(CLUSTERS),1100) --services $(or $(SERVICES),10) --replicas $(or $(REPLICAS),1) \
	  --duration $(or $(DURATION),300s) --poll $(or $(POLL),120s) --commits $(or $(COMMITS),1m) --touch $(or $(TOUCH),1%) \
	  $(if $(filter postgres,$(DATABASE)),--postgres) $(if $(filter 1,$(ALL)),--all) $(if $(filter 1,$(TUNNELS)),--tunnels) $(if $(filter 1,$(KILL)),--kill) \
	  $(if $(NAME),--name $(NAME)) $(if $(HUB),--hub $(HUB)) $(ARGS)

bench-fleet-all: ## record all runs of bench-fleet, 100 minutes (ONLY='budget growth own replicas large')
	@ONLY='$(ONLY)' HUB='$(HUB)' ./cmd/dev/bench-fleet-all.sh

dashboard-pictures: deps ## draw deploy/dashboards from real metrics into docs/pictures, 7 minutes (ARGS=--help tells more)
	@go build -o bin/dev ./cmd/dev
	@bin/dev dashboard-pictures $(ARGS)

soak: suite deps kubedev capidev stores nodedev opentofu web ## everything under the race detector, and a race that it must find, the docs site, a release on a real node (needs root), the delivery at its full size, an agent killed at each of its calls, a service of 10,000 objects, 10 clusters of a template at once, a list of 1 GiB, a watched list of 100,000 services, the console with 100,000 services and all its pictures, the provider with OpenTofu, oauth2-proxy, mod_auth_openidc and Gitea at the identity provider, a process of the hub killed at each request of a sign-in, the upgrade from deploy/previous-release, a release twice, all attacks, a mutation of each package of the clients and of the operator, panics that cached tests must not hide; records the run in test/soak-record.txt (RUN=scale_1_3_5_2 plays one)
	@RUN='$(RUN)' ./test/soak.sh

conformance-suite: ## build Kubernetes' end-to-end tests (once, cached by content)
	@./test/conformance/build.sh

conformance: deps kubedev conformance-suite ## Kubernetes' conformance tests directly and through the hub (ARGS=--help tells more)
	@go run ./cmd/dev conformance $(ARGS)

pages: ## write the pages that are made of the code (kinds, API, Terraform, commands) into docs/site/generated, seconds
	@go run ./cmd/dev/pages

docs: pages ## build the docs site, which the hub serves under /docs (the first run builds Hugo, 2 minutes)
	CGO_ENABLED=0 go tool -modfile=tools/hugo.mod hugo --source docs/site --cleanDestinationDir --noBuildLock --quiet --panicOnWarning
	@echo "docs: $$(find docs/site/public -name '*.html' | wc -l) pages in docs/site/public"

capi: ## build the component files of Cluster API and its providers into dist/capi, and compare them with their list
	cd tools/capi && CGO_ENABLED=0 go run . check --out '$(CURDIR)/dist/capi'

template: deps kubedev capidev ## judge a cluster template of yours by the contract of ours (TEMPLATE=PATH)
	@test -f '$(TEMPLATE)/template.yaml' || { echo "TEMPLATE=PATH must name the folder of a cluster template: docs/howto/fork-a-template.md"; exit 1; }
	AXLE_TEMPLATE='$(abspath $(TEMPLATE))' go test -count=1 -v ./test/clusters -run 'TestTemplatesHoldTheContract$$'

goldens: ## let the real helm and kustomize write test/goldens anew (some minutes)
	go test -count=1 ./render -run 'TestGoldens$$' -update

argo-health: ## run every health script of a checkout of Argo CD, with its own cases, in our sandbox (ARGO_CD=PATH)
	@test -d '$(ARGO_CD)/resource_customizations' || { echo "ARGO_CD=PATH must name a checkout of Argo CD: git clone --depth 1 https://github.com/argoproj/argo-cd"; exit 1; }
	ARGO_CD='$(abspath $(ARGO_CD))' go test -count=1 ./agent/health -v -run 'TestCustomizations$$'

fuzz: ## run every fuzz test for FUZZTIME (30s), each within 1 GiB of memory
	@./test/fuzz.sh $(FUZZTIME)

flakes: deps kubedev capidev stores web ## run the tests that start processes 5 times in 0.67 of a processor and 5 times beside a load of 8, a day (COUNT LOAD PACKAGES='./test/pg')
	@./test/flakes.sh

clean: ## remove what was built
	rm -rf bin dist

.PHONY: help demo node test quick gofmt attack programs suite race-all build pages docs web release image-lock deps kubedev capidev stores nodedev opentofu generate generate-code lint check-generated check-generated-code bench bench-apply bench-proxy bench-push bench-operator bench-ui screenshots bench-node bench-shares bench-oidc bench-fanout bench-terraform bench-capi bench-fleet bench-fleet-all conformance conformance-suite goldens argo-health fuzz flakes dashboard-pictures soak clean capi template
