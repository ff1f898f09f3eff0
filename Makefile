# The tests in KERNEL and NEST touch the kernel, all others are pure. Unless run as
# root, those in NEST need a user namespace around them; those in KERNEL make their
# own. RECORD notes how each of them ended; make test-vm reads from it which of them
# this kernel could not run.
NEST    = ./datapath/agents/udptunnel ./datapath/netns ./datapath/kernel ./datapath/engine ./datapath/engine/inside
KERNEL  = $(filter ./datapath/probe% ./datapath/bench% ./datapath/walk ./datapath/service/servicetest ./datapath/policy/policytest ./scenarios ./scenarios/suite ./cmd/netlab,$(ALL))
PURE    = $(filter-out $(NEST) $(KERNEL),$(ALL))
ALL     = $(shell PATH="$(PATH)"; go list ./... | sed "s,^$$(go list -m),.,")
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null)
# The race detector watches the packages that start goroutines; without a C compiler there is none.
RACE    = $(if $(shell command -v $${CC:-gcc}),-race)
RACY    = $(filter $(shell grep -rlw --include='*.go' -e 'go func' -e 'go [a-z]*\.[a-zA-Z]*' -e errgroup -e sync.WaitGroup . | xargs -n1 dirname | sort -u),$(PURE))
GOLDEN  = $(shell grep -rl --include='*_test.go' 'flag.Bool."update"' . | xargs -n1 dirname | sort -u)
ROOT    = $(filter 0,$(shell id -u))
FUZZ    = 30s
RECORD  = .test/host.json
# The slow tests of the packages in KERNEL that make pure runs.
PAPER   = ^(TestStylesOnPaper|TestBackendsOnPaper|TestConformanceAgreesWithAllowed|TestFaultsAreNoticed|TestSharedExceptionsAreNoticed|TestMistakes.*AreNoticed|TestRulesDoWhat.*Mean|TestContradictingClaimsNeverBothPass|TestExportsOfRandomLabsAreTheSameLab)$$
# The programs of Kubernetes for make test-real, and the module that builds them: once for all
# clones with the same sources, since that takes minutes.
REALSRC = datapath/service/servicetest/real
REALNAME = kubernetes-$(shell sed -n 's,^\tk8s.io/kubernetes ,,p' $(REALSRC)/go.mod)-$(firstword $(shell cat $(REALSRC)/*/*.go | cksum))
REAL    = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/netlab/$(REALNAME)
REALS   = $(addprefix $(REAL)/,kubectl kube-proxy kube-proxy-recorded)
LABS    = 200
# What only a kernel with IPVS can show: packets, SCTP.
IPVSLABS = ^../ipvs/|/sctp[.]
IPVSRANDOM = 4
VMTEST  = go run ./cmd/vmtest

STATICCHECK = v0.8.2
GOVULNCHECK = v1.8.0

export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin

.DEFAULT_GOAL := help
.PHONY: help demo build test test-vm real real-name test-real test-real-ipvs machine guest provision pure kernel golden modes lint vet staticcheck vuln bench fuzz cross vagrant clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: provision build ## bring up a lab from one file, prove it, and suggest what to try next
	@.ci/demo

build: ## build ./netlab
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o netlab ./cmd/netlab

test: ## everything: pure packages, with the race detector where there are goroutines, then the kernel
	@.ci/provision test
	@$(MAKE) --no-print-directory pure kernel

provision: ## install the system packages that are missing
	@.ci/provision

pure: ## tests that need neither kernel nor privileges
	go test $(filter-out $(RACY),$(PURE))
	go test $(RACE) $(RACY)
	go test -skip 'TestKernel|InNamespaces' ./datapath/walk ./datapath/service/servicetest
	go test -short ./datapath/policy/policytest
	go test -run '$(PAPER)' ./scenarios/suite

kernel: ## tests with real namespaces and packets, as root or rootless
	@rm -f $(RECORD)
	$(VMTEST) host -record $(RECORD) $(if $(ROOT),,-exec 'unshare -Urmn') $(NEST)
	$(VMTEST) host -record $(RECORD) -skip '$(PAPER)' $(KERNEL)

test-vm: build ## test virtual machines, and in one run the tests that this kernel cannot
	@.ci/provision vm
	@test -s $(RECORD) || $(MAKE) --no-print-directory kernel
	@$(MAKE) --no-print-directory -j2 -O machine guest

machine:
	NLAB_TEST_VM=1 go test -count=1 -v -run 'Machine|Guest' ./datapath/vm

guest:
	$(VMTEST) vm $(RECORD)

real-name: # where they are in the cache
	@echo $(REALNAME)

real: $(REALS) ## build kube-proxy and kubectl from the Go module proxy, which takes minutes once
	@echo "in $(REAL)"

test-real: real ## kube-proxy and kubectl as they are, against every scenario and LABS=200 random ones, in mode ipvs rules alone
	NLAB_TEST_REAL=$(REAL) go test ./cmd/netlab -count=1 -run '^TestReal$$'
	NLAB_TEST_REAL=$(REAL) go test ./scenarios/suite -count=1 -timeout 60m -run '^TestReal' -real-labs $(LABS)

$(REALS):
	@mkdir -p $(REAL)
	cd $(REALSRC) && GOWORK=off CGO_ENABLED=0 go build -buildvcs=false -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" -o $@ ./$(@F)

test-real-ipvs: build $(REAL)/kube-proxy ## rules and packets in mode ipvs, in a virtual machine: scenarios whose path matches IPVSLABS, and IPVSRANDOM=4 random labs
	@mkdir -p .test
	CGO_ENABLED=0 go test -c -ldflags '-s -w' -o .test/suite.test ./scenarios/suite
	./netlab vm exec --memory 3072 --file $(REAL)/kube-proxy --file scenarios --file .test/suite.test -- \
		sh -ec 'cd scenarios/suite && NLAB_TEST_REAL=$(REAL) ../../.test/suite.test -test.v -test.run "^TestRealKubeProxy" -test.parallel 1 -real-modes ipvs -real-only "$(IPVSLABS)" -real-parallel 1 -real-labs $(IPVSRANDOM)'

modes: ## every scenario and every question about services on every pod network, and every case of policies in every style, of which the tests take a sample
	go test ./scenarios -count=1 -timeout 60m -run '^TestScenarios$$' -modes-sample 0
	go test ./datapath/service/servicetest -count=1 -timeout 60m -run '^TestBackendsInNamespaces$$' -every-mode
	go test ./datapath/policy/policytest -count=1 -timeout 60m -run '^TestStylesInNamespaces$$' -every-style

golden: ## rewrite the golden files; read the diff
	go test -skip '^TestScenarios$$' $(GOLDEN) -update

lint: vet staticcheck vuln ## static checks

vet: ## gofmt and go vet
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt -w $$unformatted" >&2; exit 1; }
	go vet ./...

staticcheck: ## staticcheck
	go run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK) ./...

vuln: ## known vulnerabilities, if their database can be reached
	@.ci/vuln $(GOVULNCHECK)

bench: build ## netlab compared with a bare loop that makes the same kernel objects
	@./netlab bench

fuzz: ## every fuzz target for FUZZ=30s
	@.ci/fuzz $(FUZZ)

cross: ## compile for other systems: the command, and the pure packages with their tests
	GOOS=darwin GOARCH=arm64 go vet ./cmd/netlab $(PURE) && GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/netlab
	GOOS=windows GOARCH=amd64 go vet ./cmd/netlab $(PURE) && GOOS=windows GOARCH=amd64 go build -o /dev/null ./cmd/netlab
	GOOS=linux GOARCH=arm64 go build -o /dev/null ./cmd/netlab

vagrant: ## check the Vagrantfile
	vagrant validate --ignore-provider

clean: ## remove what was built
	rm -rf netlab .test *.test *.prof
