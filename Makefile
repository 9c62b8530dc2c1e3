# headrace: the commands of the README. SPDX-License-Identifier: Apache-2.0
BUILD ?= build
CMAKE_FLAGS ?=
CORPUS ?= ../shared/corpus
MAKE_DATA ?= ../shared/bench/make_data.py
JOBS ?= $(shell nproc)
PYTHON := .venv/bin/python
DEMO_ARRAY := examples/data/jacksboro.zarr/elevation
DEMO_PNG := $(BUILD)/jacksboro.png
# Tests of the extension itself.
ASAN_PYTHON := $(addprefix tests/python/test_,numcodecs.py package_many.py package_reads.py package_tensors.py)
SAN := -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g" -DHR_CUDA=off

.PHONY: demo test build build-tests setup-test corpus pytest check check-asan check-tsan bench-host bench-e2e bench-tiff clean help

help:
	@echo "make demo        set up, build, read the example dataset, write a quick-look PNG"
	@echo "make test        set up, build, run every test"
	@echo "make build       build the library, the command and the examples only"
	@echo "make check       format, tidy, layers, headers, symbols, sizes"
	@echo "make check-asan  the tests under AddressSanitizer and UBSan"
	@echo "make check-tsan  the tests under ThreadSanitizer"
	@echo "make bench-host  compare with other readers on this machine"
	@echo "make bench-e2e   the same, into host or GPU memory, with fields like real ones"
	@echo "make bench-tiff  TIFF files, beside tifffile and GDAL"
	@echo "make clean       remove what the build made (not .venv)"

demo: build
	$(BUILD)/examples/demo $(DEMO_ARRAY)
	$(BUILD)/cli/headrace png $(DEMO_ARRAY) $(DEMO_PNG)
	@echo "quick-look: $(DEMO_PNG)"

test: build-tests corpus
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --timeout 600 \
	    -j $(JOBS)
	$(MAKE) --no-print-directory pytest

build:
	scripts/setup.sh base
	cmake -S . -B $(BUILD) -G Ninja -DHR_TESTS=OFF -DHR_SIMT=OFF $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)

setup-test:
	scripts/setup.sh base test

build-tests: setup-test
	cmake -S . -B $(BUILD) -G Ninja -DHR_TESTS=ON -DHR_SIMT=ON -DHR_PYTHON=ON \
		-DPython3_EXECUTABLE=$(abspath $(PYTHON)) $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)

# Files written by other software, kept outside the repository. Unpacked once.
corpus: $(if $(wildcard $(CORPUS)/files.tar.xz),$(BUILD)/corpus/MANIFEST.tsv,corpus-absent)

$(BUILD)/corpus/MANIFEST.tsv: $(CORPUS)/files.tar.xz
	mkdir -p $(BUILD)
	tar xf $< -C $(BUILD)
	cp $(CORPUS)/*.tsv $(BUILD)/corpus/ && chmod u+w $(BUILD)/corpus/*.tsv && touch $@

.PHONY: corpus-absent
corpus-absent:
	@echo "skipped: corpus tests ($(CORPUS)/files.tar.xz is absent)"

# PYTEST_FLAGS: e.g. "-k corpus".
pytest:
	HEADRACE_BIN=$(BUILD)/cli/headrace HEADRACE_LIB=$(BUILD)/libheadrace.so \
	HEADRACE_CORPUS=$(BUILD)/corpus PYTHONPATH=$(abspath $(BUILD)/python) \
	$(PYTHON) -m pytest -p no:cacheprovider tests/python -q -rs $(PYTEST_FLAGS)

check: build-tests
	tools/check_all.sh $(BUILD)

check-asan: setup-test corpus
	CC=clang CXX=clang++ cmake -S . -B build-asan $(SAN) -DHR_WERROR=ON -DHR_SANITIZE=address,undefined -DHR_FUZZ=ON \
		-DHR_PYTHON=ON -DPython3_EXECUTABLE=$(abspath $(PYTHON))
	$(PYTHON) fuzz/make_seeds.py build-asan/seeds $(wildcard $(BUILD)/corpus)
	cmake --build build-asan -j $(JOBS)
	ln -sfn $(abspath $(BUILD)/corpus) build-asan/corpus
	ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	ctest --test-dir build-asan --output-on-failure --no-tests=error --timeout 600 \
	    -j $(JOBS)
	ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1 \
	HEADRACE_BIN=build-asan/cli/headrace HEADRACE_CORPUS=build-asan/corpus \
	$(PYTHON) -m pytest -p no:cacheprovider tests/python/test_corpus.py -q -rs
	ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 PYTHONMALLOC=malloc \
	LD_PRELOAD=$$(clang -print-file-name=libclang_rt.asan-$$(uname -m).so) \
	HEADRACE_BIN=build-asan/cli/headrace PYTHONPATH=$(abspath build-asan/python) \
	$(PYTHON) -m pytest -p no:cacheprovider $(ASAN_PYTHON) -q -rs -k "not forked"

# Without -Werror: gcc warns of text that might be cut where it instruments.
check-tsan: setup-test corpus
	cmake -S . -B build-tsan $(SAN) -DHR_WERROR=OFF -DHR_SANITIZE=thread
	cmake --build build-tsan -j $(JOBS)
	ln -sfn $(abspath $(BUILD)/corpus) build-tsan/corpus
	TSAN_OPTIONS=halt_on_error=1 \
	ctest --test-dir build-tsan --output-on-failure --no-tests=error --timeout 600 \
	    -j $(JOBS)

# BENCH_FLAGS: e.g. "--size 512".
bench-host:
	scripts/setup.sh base bench
	$(MAKE) --no-print-directory build \
		CMAKE_FLAGS="-DHR_PYTHON=ON -DPython3_EXECUTABLE=$(abspath $(PYTHON)) $(CMAKE_FLAGS)"
	HEADRACE_LIB=$(BUILD)/libheadrace.so PYTHONPATH=$(abspath $(BUILD)/python) $(PYTHON) bench/host/run.py $(BENCH_FLAGS)

# BENCH_FLAGS: e.g. "--mib 64 --fields era --crops 200".
bench-e2e:
	scripts/setup.sh base bench
	$(MAKE) --no-print-directory build \
		CMAKE_FLAGS="-DHR_PYTHON=ON -DPython3_EXECUTABLE=$(abspath $(PYTHON)) $(CMAKE_FLAGS)"
	HEADRACE_BIN=$(BUILD)/cli/headrace PYTHONPATH=$(abspath $(BUILD)/python) $(PYTHON) bench/e2e/run.py \
		--make-data $(MAKE_DATA) $(BENCH_FLAGS)

bench-tiff:
	scripts/setup.sh base bench
	$(MAKE) --no-print-directory build \
		CMAKE_FLAGS="-DHR_PYTHON=ON -DPython3_EXECUTABLE=$(abspath $(PYTHON)) $(CMAKE_FLAGS)"
	PYTHONPATH=$(abspath $(BUILD)/python) $(PYTHON) bench/tiff/run.py $(BENCH_FLAGS)

clean:
	rm -rf $(BUILD) build-asan build-tsan
