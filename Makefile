# make lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

# The SQL parser is C of others, whose warnings -w leaves out. With -O0 it is compiled in 13 s in
# place of 45, and a statement such as TPC-H's Q1 is parsed in 0.4 ms in place of 0.2. A release has
# -O2.
export CGO_CFLAGS ?= -O0 -w

# gRPC's traces come with a page that is a template, which keeps 8 MB of methods in the program that
# nothing else calls.
export GOFLAGS += -tags=$(TAGS)
TAGS := grpcnotrace

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
RACE        := ./engine ./engine/internal/aggregator ./engine/scan/... ./cpuagg ./engine/sink/... ./kernels/hostdevice ./stream ./internal/scatter ./internal/store ./internal/mem ./internal/vfs/... ./internal/trace
FLIGHTS     := tests/testdata/flights-2001.parquet
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null)
MPGA        := bin/mpga
TRIM        ?= -trimpath
OPTIMISED   ?= -O2 -w
TESTED      := $(CURDIR)/bin/tested/mpga

# PYTHON has DuckDB 2 for test-peers, bench and bench-sql: pip install duckdb==2.0.0 pyarrow, and
# polars and chdb for bench.
PYTHON      ?= python3

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/mpga
	go build $(TRIM) -ldflags "-s -w -X main.version=$(VERSION)" -o $(MPGA) ./cmd/mpga

.PHONY: lab
lab: ## build bin/mpga-lab, which measures mpga and its parts
	go -C lab build $(TRIM) -ldflags "-s -w" -o $(CURDIR)/bin/mpga-lab ./cmd/mpga-lab

.PHONY: demo
demo: build ## aggregate a sample of the flights of 2001
	@export PATH="$(CURDIR)/bin:$$PATH"; \
	show() { printf '\n$$ %s\n' "$$1"; eval "$$1"; }; \
	show "mpga agg --agg 'count(*) as flights, avg(delay), median(delay), quantile_cont(delay, 0.9) as p90' $(FLIGHTS)"; \
	show "mpga agg --by origin --agg 'count(*) as flights, avg(delay) as mean_delay, max(distance) as farthest, arg_max(destination, distance) as there' --limit 8 $(FLIGHTS)"; \
	show "mpga agg --by origin,destination --agg 'count(*) as flights, max(delay, 3) as worst' --format json $(FLIGHTS) | sort -t: -k4n | tail -3"; \
	echo

# go vet looks at every package and its imports once: go test would do so again with every tag and
# flag. The packages with the longest tests come first, so that none runs alone at the end.
.PHONY: test
test: ## run the tests that need no GPU and no long time, a comparison with DuckDB among them
	go vet ./...
	go test -vet=off -timeout 30m -short ./kernels ./engine ./...
	cd lab && go vet ./... && go test -vet=off -timeout 30m -short ./...
	cd tests && go vet ./... && go test -vet=off -timeout 30m -short ./...

.PHONY: test-long
test-long: ## run in full the tests that make test shortens, and no others
	longer=$$(go -C tests run ./longer ..) && go test -vet=off -timeout 30m $$longer
	cd tests && longer=$$(go run ./longer .) && go test -vet=off -timeout 30m $$longer

# The tag portable, for Go in place of assembly, is this module's own: with the tag purego the
# standard library, too, and all packages would be compiled once more.
.PHONY: test-portable
test-portable: ## run the tests of what has assembly without it
	go test -vet=off -timeout 30m -tags portable,$(TAGS) -short ./partition ./cpuagg ./internal/scatter ./internal/table ./internal/needle ./internal/wellformed ./engine/internal/aggregator ./engine/scan/csv ./engine/scan/parquet ./engine/scan/internal/rowset
	go test -vet=off -timeout 30m -tags portable,$(TAGS) -short -run 'LookUp|Pack|CSV|Filter|Gather' ./engine/internal/encode ./engine/scan/dataset ./internal/expr

.PHONY: test-nocgo
test-nocgo: ## build without cgo, which leaves out SQL, and without the object stores
	CGO_ENABLED=0 go build -tags nos3,nogs,noaz,$(TAGS) ./...
	CGO_ENABLED=0 go test -vet=off -timeout 30m ./engine/sql

# Two large packages of others are not optimised: the tests spend no time in them, and compiling
# them for the race detector took 55 s. Tables of tests, the oracle and encodings of others' Parquet have no goroutines,
# and the detector spent most of its time on them: they go without it.
UNOPTIMISED := -gcflags 'github.com/apache/arrow-go/v18/arrow/compute/internal/kernels=-N -l' -gcflags 'github.com/goccy/go-json/...=-N -l'
UNWATCHED   := $(foreach package,math math/rand/v2 github.com/mpga/mpga/internal/grouptest github.com/apache/arrow-go/v18/parquet/internal/...,-gcflags '$(package)=-race=false')

.PHONY: test-race
test-race: ## run the concurrent packages under the race detector, with all invariants checked
	go test -vet=off -timeout 30m -race $(UNOPTIMISED) $(UNWATCHED) -tags invariants,$(TAGS) -short $(RACE)

.PHONY: test-gpu
test-gpu: SIZE ?= -rows 30000000 -queries 1000
test-gpu: ## run the tests that need a GPU, or say why not, for half an hour; GPU='-rows 10000000', SIZE='-seed 1' and other flags
	go test -c -trimpath -ldflags "-s -w" -o bin/device.test ./kernels/devicetest
	bin/device.test -test.run CUDA $(GPU)
	go test -c -trimpath -ldflags "-s -w" -o bin/engine.test ./engine
	cd engine && ../bin/engine.test -test.run 'TestCases/random.*/device|TestRandom$$|TestPartialRandom$$|TestDeviceParts$$' -device cuda
	go test -c -trimpath -ldflags "-s -w" -o bin/plan.test ./engine/plan
	pids=; for process in 1 2; do bin/plan.test -test.timeout 2h -test.v -test.run TestDeviceSize -device cuda -together 4 $(SIZE) & pids="$$pids $$!"; done; for pid in $$pids; do wait $$pid; done
	go run ./cmd/mpga devices | grep '^no device' || (cd lab && go run ./cmd/mpga-lab outofcore --rows 2e8 --groups 1e3,1e7,2e8 --times 1)

# DuckDB 2.0.0 is the reference, and exists for Python alone. make test needs none: there the DuckDB 1.5.5 of the
# Go driver answers. A stamp says that the packages are there: pip may end between the folder and its packages.
bin/duckdb/stamp: tests/peer/requirements.txt
	$(PYTHON) -m venv bin/duckdb
	bin/duckdb/bin/python -m pip install --quiet -r tests/peer/requirements.txt
	touch bin/duckdb/stamp

# The tests that ask DuckDB. Those of random questions have seeds, and ask the same ones each time.
REFERENCE := ^Test(SQL.*|.*AgainstDuckDB|Sink.*|FoldersAndDuckDB|H2OInParts|Flights|Documented.*)$$

.PHONY: test-reference
test-reference: bin/duckdb/stamp ## compare SQL, cases and queries with DuckDB 2.0.0, for two minutes; downloads that and pyarrow, 80 MB
	cd tests && go test -vet=off -count=1 -short -timeout 20m -run '$(REFERENCE)' -duckdb-python=$(CURDIR)/bin/duckdb/bin/python -edges=32 -sqlqueries=400 .

.PHONY: test-peers
test-peers: QUERIES ?= 2000
test-peers: ## compare random SQL with DuckDB 2 and try the benchmarks beside it, for two minutes; PYTHON=python3, QUERIES=2000
	cd tests && MPGA_PYTHON=$(PYTHON) go test -vet=off -count=1 ./peer/... ./sqlbench ./bench
	cd tests && go test -vet=off -count=1 -short -timeout 3h -run '$(REFERENCE)' -duckdb-python=$(PYTHON) -sqlqueries=$(QUERIES) .

# A process asks its share of the statements, and its log in out/random has each that is answered otherwise with both
# answers and how to ask it alone.
.PHONY: test-random
test-random: SEED ?= 1
test-random: FIRST ?= 0
test-random: QUERIES ?= 50000
test-random: PROCESSES ?= 16
test-random: bin/duckdb/stamp ## ask many random statements beside DuckDB 2.0.0; SEED=1 FIRST=0 QUERIES=50000 PROCESSES=16, RANDOM_FLAGS='-sqldevice host:64MiB'
	go -C tests test -c -vet=off -o ../bin/random.test .
	rm -rf out/random && mkdir -p out/random
	cd tests && share=$$((($(QUERIES) + $(PROCESSES) - 1) / $(PROCESSES))); pids=; failed=0; \
	for ((i = 0; i < $(PROCESSES); i++)); do \
		../bin/random.test -test.v -test.timeout 24h -test.run '^TestSQLRandom$$' -seed=$(SEED) -first=$$(($(FIRST) + i * share)) -sqlqueries=$$share \
			-duckdb-python=$(CURDIR)/bin/duckdb/bin/python $(RANDOM_FLAGS) >../out/random/$$i.log 2>&1 & pids="$$pids $$!"; \
	done; \
	for pid in $$pids; do wait $$pid || failed=1; done; \
	grep -h 'statements have an answer' ../out/random/*.log; grep -h 'again:.*-sqlqueries=1$$' ../out/random/*.log || true; exit $$failed

# The driver of JDBC, as a program of Java would have it.
JDBC := bin/clients/flight-sql-jdbc-driver-18.3.0.jar

$(JDBC):
	mvn --quiet --batch-mode dependency:copy -Dartifact=org.apache.arrow:flight-sql-jdbc-driver:18.3.0 -DoutputDirectory=$(CURDIR)/$(@D)

.PHONY: test-clients
test-clients: $(JDBC) ## run JDBC's driver, with Java and mvn, and ADBC's, with pip install adbc-driver-flightsql, against a server; PYTHON=python3
	cd tests && MPGA_PYTHON=$(PYTHON) go test -vet=off -count=1 -v -run '^TestServe(Java|Python|Examples)$$' .

# The program is built as the tests are, so that nothing is compiled again for it, and linked once.
.PHONY: tested
tested:
	go build -o $(TESTED) ./cmd/mpga

.PHONY: test-beam
test-beam: tested ## run the tests of the pipeline of Apache Beam, on the runner of its Go SDK; downloads that, 120 MB
	cd integrations/beam && go vet ./... && MPGA_BINARY=$(TESTED) go test -vet=off -count=1 -timeout 10m ./...

# Kubernetes is a library here: its API server's validation, and its Job controller.
# Kubernetes is not optimised, which spares a quarter of its compilation.
KUBERNETES := -gcflags 'k8s.io/...=-N -l'

.PHONY: test-kubernetes
test-kubernetes: tested ## hold the YAML for Kubernetes against its own code, and run the Jobs as processes; downloads and compiles that code for minutes
	cd tests/kubernetes && go vet $(KUBERNETES) ./... && MPGA_BINARY=$(TESTED) go test $(KUBERNETES) -vet=off -count=1 -timeout 10m ./...

.PHONY: lint
lint: ## gofmt, vet and staticcheck
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go run $(STATICCHECK) ./...

.PHONY: bench
bench: build ## measure beside DuckDB 2, Polars and ClickHouse, for hours; PYTHON=python3, BENCH='-rows 1e7 -run memory' and other flags
	mkdir -p out
	cd tests && go run -ldflags "-X main.version=$(VERSION)" ./bench -python $(PYTHON) -md ../out/bench.md -svg ../out/bench.svg -json ../out/bench.json $(BENCH)

# As in a release, the parser is optimised.
.PHONY: bench-sql
bench-sql: export CGO_CFLAGS := -O2 -w
bench-sql: ## measure SQL beside DuckDB 2, for ten minutes; PYTHON=python3, BENCH='-scale 1 -rows 1e6' and other flags
	cd tests && go run ./sqlbench -python $(PYTHON) $(BENCH)

.PHONY: bench-micro
bench-micro: ## run the benchmarks beside the code, for benchstat
	go test -run '^$$' -bench . -benchmem ./cpuagg/... ./engine/... ./partition/... ./stream/... ./internal/mem ./internal/scatter ./internal/store ./internal/table

# NVIDIA's run-time compiler, 12.9: its machine code loads on drivers from 525 on.
NVRTC := nvidia-cuda-nvrtc-cu12==12.9.86

bin/nvrtc:
	python3 -m pip download --quiet --no-deps --only-binary=:all: --dest bin/nvrtc.wheel $(NVRTC)
	python3 -m zipfile -e bin/nvrtc.wheel/*.whl bin/nvrtc.tmp
	mv bin/nvrtc.tmp/nvidia/cuda_nvrtc/lib bin/nvrtc
	rm -r bin/nvrtc.tmp bin/nvrtc.wheel

.PHONY: kernels
kernels: bin/nvrtc ## compile the CUDA sources into kernels/cuda; downloads the compiler, 90 MB
	nice python3 kernels/build/build.py bin/nvrtc bin/kernels
	go run ./kernels/build bin/kernels

.PHONY: kernels-check
kernels-check: bin/nvrtc ## compile the CUDA sources for one GPU and compare with kernels/cuda
	nice python3 kernels/build/build.py bin/nvrtc bin/kernels -check
	go run ./kernels/build -check bin/kernels

# The version of a release sorts, also where no commit has a tag yet. File names have it without the
# v.
RELEASE := $(shell git describe --tags --dirty 2>/dev/null || echo v0.0.0-$(VERSION))
DIST    := bin/release
release: export VERSION := $(RELEASE:v%=%)

.PHONY: release
release: ## make the files of a release in bin/release: archive, Debian package, container image, sums
	rm -rf $(DIST) && mkdir -p $(DIST)/man
	CGO_CFLAGS="$(OPTIMISED)" go build $(TRIM) -ldflags "-s -w -X main.version=$(RELEASE)" -o $(DIST)/mpga ./cmd/mpga
	$(DIST)/mpga docs man $(DIST)/man && gzip -9n $(DIST)/man/*
	for shell in bash zsh fish; do $(DIST)/mpga completion $$shell > $(DIST)/mpga.$$shell; done
	tar -C $(DIST) -czf $(DIST)/mpga-$(VERSION)-linux-amd64.tar.gz --transform 's,^,mpga-$(VERSION)/,' --owner 0 --group 0 mpga man mpga.bash mpga.zsh mpga.fish -C $(CURDIR) LICENSE README.md docs
	go -C release build -o ../bin/ ./image github.com/goreleaser/nfpm/v2/cmd/nfpm
	bin/nfpm package --config release/nfpm.yaml --packager deb --target $(DIST)
	bin/image -binary $(DIST)/mpga -version $(VERSION) -o $(DIST)/mpga-$(VERSION)-oci.tar
	rm -r $(DIST)/mpga $(DIST)/man $(DIST)/mpga.{bash,zsh,fish}
	cd $(DIST) && sha256sum * > SHA256SUMS
	release/check $(DIST) $(CURDIR)/$(FLIGHTS)

# With the flags of make build nothing is compiled again. For others make wheel CGO_CFLAGS="-O2 -w" optimises the parser.
wheel: export MPGA_VERSION := $(RELEASE)

.PHONY: wheel
wheel: ## make a wheel for Python in bin/wheel, with the program inside; downloads what builds it
	rm -rf bin/wheel
	go build $(TRIM) -ldflags "-s -w -X main.version=$(RELEASE)" -o python/src/mpga/bin/mpga ./cmd/mpga
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir bin/wheel ./python
	ls -l bin/wheel

bin/python: python/tests/requirements.txt
	$(PYTHON) -m venv bin/python
	bin/python/bin/python -m pip install --quiet -r python/tests/requirements.txt
	touch bin/python

.PHONY: test-python
test-python: export PYTHONDONTWRITEBYTECODE := 1
test-python: bin/python tested ## run the tests of the Python package; downloads pyarrow, pandas and Polars, 150 MB
	cd python && MPGA_BINARY=$(TESTED) ../bin/python/bin/python -m pytest -q

.PHONY: bench-python
bench-python: bin/python tested ## measure how fast rows go between Python and the server
	PYTHONPATH=python/src MPGA_BINARY=$(TESTED) bin/python/bin/python python/bench/bandwidth.py

bin/spark: integrations/spark/tests/requirements.txt
	$(PYTHON) -m venv bin/spark
	bin/spark/bin/python -m pip install --quiet -r integrations/spark/tests/requirements.txt
	touch bin/spark

.PHONY: test-spark
test-spark: export PYTHONDONTWRITEBYTECODE := 1
test-spark: bin/spark tested ## run the tests of the package for Spark with two executors, with Java 17; downloads PySpark, 455 MB
	cd integrations/spark && MPGA_BINARY=$(TESTED) ../../bin/spark/bin/python -m pytest -q

.PHONY: clean
clean: ## remove what was built
	rm -rf bin out
