# Two commands for everybody: `make demo` and `make test`. Both install what is missing, by package name, and ask nothing.

SHELL := /bin/bash
CARGO ?= cargo
# Tests wait for servers more than they compute.
export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
# Those that can be fetched.
ENGINES := $(shell awk -F'"' '/^name =/ { name = $$2 } /^(maven|debian) =/ { print name }' \
	crates/server/src/catalogue.toml)

# What a Debian or Ubuntu machine with Rust, git, make and a C compiler lacks. maven brings the
# servers' archives, libssl-dev and pkg-config the TLS library; in the tests chromium opens the
# report, btrfs-progs make a file system that shares blocks, debian-archive-keyring verifies the
# servers of other suites of Debian, fio judges devices, node_exporter is asked as of another machine,
# and curl asks `mydyno serve` as a stranger does, also through nginx; python3 runs the tests.
PACKAGES_demo := ca-certificates libssl-dev maven pkg-config xz-utils
PACKAGES_test := $(PACKAGES_demo) btrfs-progs chromium curl debian-archive-keyring fio nginx-light \
	prometheus-node-exporter python3
# A Slurm of two nodes, and a proxy.
PACKAGES_soak := haproxy munge slurm-client slurmctld slurmd

# Installs the engines that tests and benchmarks start.
define install
for engine in $(ENGINES); do $(1) server install $$engine || exit; done
endef

.PHONY: demo test soak soak-ci mutants lint bench devices pictures install uninstall deb package \
	image build packages-demo packages-test packages-soak clean

demo: packages-demo
	$(CARGO) build --release --locked -p cli -p shim -p clock
	target/release/mydyno demo

# Every behaviour, on every engine, with real fio and a real browser: 7 to 8 minutes on two cores,
# once it is built. Compiled as a whole and only once, but for the shim: what `cargo build` compiles
# of the workspace has other features than its tests have.
test: packages-test
	$(CARGO) test --locked --workspace --no-run
	$(call install,target/debug/mydyno)
	.ci/tests $(TEST_ARGS)

# The long tests that `make test` leaves out: those with the attribute `#[ignore = "make soak"]`. As
# many at a time as there are cores: some ask where a server saturates, which is far below what these
# tests leave of a machine that they crowd.
soak: packages-soak
	$(MAKE) test RUST_TEST_THREADS=$$(nproc) TEST_ARGS='--soak $(SOAK_ARGS)'

# Some of them, which the last commit decides on: as many as begin within that time, one after
# another. Those that ask what bounds a server need a machine that does nothing else. HAProxy and
# Slurm are not installed for them, and a million cases take longer than that time.
SOAK_CI_SECONDS ?= 100
soak-ci:
	$(MAKE) test TEST_ARGS='--soak --seconds $(SOAK_CI_SECONDS) --skip bound:: --skip haproxies:: \
		--skip slurm:: --skip million --skip very_many'

# How many small faults of the product its crates' own tests notice; hours. See .ci/mutants.
mutants: packages-test
	@$(CARGO) mutants --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-mutants
	.ci/mutants

lint: packages-demo
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

# `make bench ROUNDS=5 AGAINST='peer --host {host} ...' DSN=mysql://...`; any other option by BENCH_ARGS. See bench/README.md.
# Quoted by the shell, to which make hands the variables of its command line: a peer's command line has quotes of its own.
ROUNDS ?= 3
bench: packages-test
	$(CARGO) bench --locked -p tpcc --bench population
	$(CARGO) bench --locked -p drive --bench recording
	$(CARGO) bench --locked -p device --bench model
	$(CARGO) bench --locked -p shim --bench counting
	$(CARGO) bench --locked -p clock --bench reading
	$(CARGO) bench --locked -p report --bench page
	$(CARGO) bench --locked -p cli --bench driver -- --rounds $(ROUNDS) $(if $(DSN),--dsn "$$DSN") \
		$(if $(AGAINST),--against "$$AGAINST") $(if $(AGAINST_SCHEMA),--against-schema "$$AGAINST_SCHEMA") $(BENCH_ARGS)

# Writes docs/devices.md, in more than two hours on a quiet machine; options by BENCH_ARGS (`--only papers` measures a part anew).
devices: packages-test build
	$(call install,target/release/mydyno)
	$(CARGO) bench --locked -p cli --bench devices -- --output $(CURDIR)/docs/devices.md $(BENCH_ARGS)

# Makes the pictures of the README and docs/tutorial.md, in some 25 minutes on a quiet machine: measures
# the tutorial's lab, watches it in a browser, and opens its report.
pictures: packages-test build
	target/release/mydyno server install mysql-5.7
	$(CARGO) bench --locked -p cli --bench pictures -- --plan $(CURDIR)/plans/tutorial.toml \
		--output $(CURDIR)/docs/pictures $(BENCH_ARGS)

# Installs what `make build` made: the program, the libraries that it preloads, completions and
# manual pages. `make install PREFIX=$$HOME/.local` needs no root; `make uninstall` takes it away.
PREFIX ?= /usr/local
BUILT ?= target/release
DESTDIR ?=
ROOT = $(DESTDIR)$(PREFIX)
install:
	install -D -m 755 -t "$(ROOT)/bin" $(BUILT)/mydyno
	install -D -m 644 -t "$(ROOT)/lib/mydyno" $(BUILT)/libmydyno_shim.so $(BUILT)/libmydyno_clock.so
	mkdir -p "$(ROOT)/share/bash-completion/completions" "$(ROOT)/share/zsh/site-functions" \
		"$(ROOT)/share/fish/vendor_completions.d"
	$(BUILT)/mydyno completions bash >"$(ROOT)/share/bash-completion/completions/mydyno"
	$(BUILT)/mydyno completions zsh >"$(ROOT)/share/zsh/site-functions/_mydyno"
	$(BUILT)/mydyno completions fish >"$(ROOT)/share/fish/vendor_completions.d/mydyno.fish"
	$(BUILT)/mydyno man "$(ROOT)/share/man/man1"

uninstall:
	rm -rf "$(ROOT)/bin/mydyno" "$(ROOT)/lib/mydyno" "$(ROOT)"/share/man/man1/mydyno*.1 \
		"$(ROOT)/share/bash-completion/completions/mydyno" "$(ROOT)/share/zsh/site-functions/_mydyno" \
		"$(ROOT)/share/fish/vendor_completions.d/mydyno.fish"

# A package for Debian 12 and what is newer, target/mydyno.deb, of what lies in BUILT.
deb: build package

package:
	@.ci/packages dpkg-dev
	rm -rf target/package
	$(MAKE) install DESTDIR=$(CURDIR)/target/package PREFIX=/usr
	contrib/deb $(CURDIR)/target/package $(CURDIR)/target/mydyno.deb

target/mydyno.deb:
	$(MAKE) deb

# A container image for labs on many machines (contrib/README.md), with that package.
image: target/mydyno.deb
	docker build -f contrib/Dockerfile -t mydyno .

build: packages-demo
	$(CARGO) build --release --locked -p cli -p shim -p clock

packages-demo packages-test packages-soak: packages-%:
	@.ci/packages $(PACKAGES_$*)

clean:
	$(CARGO) clean
