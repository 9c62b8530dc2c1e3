#!/usr/bin/env bash
# Install what headrace needs on Debian and Ubuntu. SPDX-License-Identifier: Apache-2.0
#
# usage: scripts/setup.sh [base] [test] [bench]
#
# base: what the library, the command and the demo are built with. test: the test tools,
# and a Python environment in .venv. bench: the readers that bench/host compares with.
# A machine that has everything is left alone: no package manager runs, no network is used.
set -euo pipefail
cd "$(dirname "$0")/.."

base_packages=(build-essential cmake ninja-build pkg-config libzstd-dev liblz4-dev
    libdeflate-dev libsnappy-dev libjson-c-dev liblzma-dev libbz2-dev zlib1g-dev libzfp-dev
    libpng-dev)
# What JPEG, LERC and WebP in TIFF need; everything else works without.
image_packages=(libjpeg-dev liblerc-dev libwebp-dev)
test_packages=(libcmocka-dev libblosc-dev python3-dev python3-venv clang clang-format clang-tidy xz-utils)

die() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

is_installed() {
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

list_missing() {
    local package
    for package in "$@"; do
        is_installed "$package" || printf '%s\n' "$package"
    done
}

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    else
        sudo -n true 2>/dev/null || [[ -t 0 ]] || die "sudo asks for a password here"
        sudo "$@"
    fi
}

apt_install() {
    if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
        die "not root and no sudo. Install these packages, then run this again:
  apt-get install $*"
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# Package of the sanitizer runtime that fits the distribution's clang.
clang_runtime() {
    local major
    major=$(dpkg-query -W -f='${Depends}' clang 2>/dev/null | sed -n 's/.*clang-\([0-9]\+\).*/\1/p')
    [[ -n "$major" ]] || die "cannot tell the version of clang"
    printf 'libclang-rt-%s-dev\n' "$major"
}

have_apt_updated=no
need_packages() {
    local missing
    mapfile -t missing < <(list_missing "$@")
    [[ ${#missing[@]} -gt 0 ]] || return 0
    printf 'setup: installing %s\n' "${missing[*]}"
    if [[ $have_apt_updated == no ]] && { [[ $EUID -eq 0 ]] || command -v sudo >/dev/null; }; then
        as_root apt-get update -q
        have_apt_updated=yes
    fi
    apt_install "${missing[@]}"
}

need_dpkg() {
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null && return 0
    printf 'setup: this is not Debian or Ubuntu; make sure that these are there: %s\n' "$*" >&2
    return 1
}

# need_python STAMP REQUIREMENTS: the environment holds what the file lists.
need_python() {
    local stamp=$1 requirements=$2
    if [[ ! -x .venv/bin/python ]]; then
        python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
            die "the tests need Python 3.11 or newer, this is $(python3 --version)"
        python3 -m venv .venv
    fi
    cmp -s "$requirements" ".venv/$stamp" && return 0
    .venv/bin/python -m pip install -q --disable-pip-version-check -r "$requirements"
    cp "$requirements" ".venv/$stamp"
}

[[ $# -gt 0 ]] || set -- base
for part in "$@"; do
    case $part in
    base)
        need_dpkg "${base_packages[@]}" && need_packages "${base_packages[@]}"
        command -v dpkg-query >/dev/null && { (need_packages "${image_packages[@]}") ||
            printf 'setup: without %s TIFF files that need them are refused\n' \
                "${image_packages[*]}" >&2; }
        ;;
    test)
        if need_dpkg "${test_packages[@]}"; then
            need_packages "${test_packages[@]}"
            need_packages "$(clang_runtime)"
        fi
        need_python headrace-test.txt tests/requirements.txt
        ;;
    bench)
        need_dpkg python3-dev python3-venv && need_packages python3-dev python3-venv
        need_python headrace-bench.txt bench/requirements.txt
        ;;
    *) die "no such part: $part (base, test or bench)" ;;
    esac
done
