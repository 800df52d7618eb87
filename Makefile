# Two commands do everything: `make run` and `make test`. Both install what is missing, build, and are quick when nothing changed.
BUILD ?= build/release
JOBS  ?= $(shell nproc)

.PHONY: run test build cuda setup setup-tests setup-bench setup-reference fuzz bench twins soak site clean

run: setup
	@tools/build $(BUILD) programs
	@$(BUILD)/bin/expc run experiments/precision.exp --preset quick --results results --verdicts-ok

# Installs what the CUDA worker and running tests need while the rest is built. The second build adds the CUDA worker and waits for the
# set-up, so the first one yields to it.
test: setup
	@tools/setup --cuda --dali --tests & nice tools/build $(BUILD) all; built=$$?; wait $$! && exit $$built
	@tools/build $(BUILD) all
	@tools/test $(BUILD)

build: setup
	@tools/build $(BUILD) programs

# The same with the CUDA worker and the null GPU on a machine without a GPU, to try a GPU study: expc run STUDY --null-gpus 4x80GiB.
cuda:
	@tools/setup --cuda --dali
	@tools/build $(BUILD) programs

setup:
	@tools/setup

setup-tests:
	@tools/setup --tests

# Python's side of benchmarks and of experiments/twin_*.exp: torch, torchvision, transformers, peft, DALI and planners in .deps/bench (6 GB),
# torchtune with its torchao in .deps/bench-torchtune (400 MB).
setup-bench:
	@tools/setup --bench

# The versions that the reference study ran, for the twins: torch 2.2.2 in .deps/reference (5 GB), torchtune 0.5.0 in .deps/reference-torchtune (6 GB).
setup-reference:
	@tools/setup --reference

# Fuzzes the front end under ASan and UBSan for FUZZ_SECONDS.
FUZZ_SECONDS ?= 600
fuzz:
	@tools/setup --fuzz
	@tests/fuzz/run $(FUZZ_SECONDS)

bench: cuda setup-bench
	@tools/build $(BUILD) expc-index-bench expc-tokenizer-bench expc-training-bench expc-llm-bench expc-llm-export expc-loader-bench expc-epoch-bench
	@python3 tests/bench/check.py --expc $(BUILD)/bin/expc
	@python3 tests/bench/planner.py --expc $(BUILD)/bin/expc
	@python3 tests/bench/trials.py --expc $(BUILD)/bin/expc
	@python3 tests/bench/commands.py --expc $(BUILD)/bin/expc
	@$(BUILD)/bin/expc-index-bench
	@.deps/bench/bin/python tests/bench/tokenizer.py --bench $(BUILD)/bin/expc-tokenizer-bench
	@python3 tests/bench/training.py --bench-step $(BUILD)/bin/expc-training-bench
	@python3 tests/bench/llm.py --bench-step $(BUILD)/bin/expc-llm-bench
	@python3 tests/bench/gpu_step.py --worker $(BUILD)/bin/expc-worker-cuda --null-gpu $(BUILD)/lib/nullgpu
	@.deps/bench/bin/python tests/bench/peft_load.py --export $(BUILD)/bin/expc-llm-export
	@python3 tests/bench/loaders.py --bench $(BUILD)/bin/expc-loader-bench --expc $(BUILD)/bin/expc
	@python3 tests/bench/epoch.py --bench $(BUILD)/bin/expc-epoch-bench --expc $(BUILD)/bin/expc

# The same points in PyTorch and DALI beside expc, in the same blocks.
# VERSIONS=reference runs them with those that the reference study names.
VERSIONS ?= bench
twins: build setup-$(VERSIONS)
	@for study in experiments/twin_*.exp; do \
	  grep -q 'preset quick' $$study || { echo "$$study is left out: it asks what only GPUs can show"; continue; }; \
	  case $$study in *_tuning_*) python=../.deps/$(VERSIONS)-torchtune/bin/python ;; *) python=../.deps/$(VERSIONS)/bin/python ;; esac; \
	  $(BUILD)/bin/expc run $$study --preset quick -D "python=\"$$python\"" --results results/twins --verdicts-ok || exit 1; \
	done

# 1,000 kills of engines, servers and ranks, and of merging stores and taking bundles out; then ten minutes of a study of four ranks whose ranks, engines, data and disk are taken away.
SOAK_SECONDS ?= 600
soak: build
	@python3 tests/fault/kills.py --expc $(BUILD)/bin/expc --worker $(BUILD)/bin/expc-worker-null --kills 1000 --minutes 60
	@python3 tests/fault/writes.py --expc $(BUILD)/bin/expc --killer $(BUILD)/tests/fault/libexpc_fault_killer.so --kills 1000
	@python3 tests/fault/soak.py --expc $(BUILD)/bin/expc --worker $(BUILD)/bin/expc-worker --seconds $(SOAK_SECONDS)

# The documentation as one folder, build/site, to be read without a network.
site:
	@/usr/bin/python3 tools/site

clean:
	rm -rf build
