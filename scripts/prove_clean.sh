#!/usr/bin/env bash
# Prove the README's two commands on a bare Debian. SPDX-License-Identifier: Apache-2.0
#
# usage: scripts/prove_clean.sh DIRECTORY [COMMAND...]
#
# Makes a minimal Debian in DIRECTORY with debootstrap (as root), with nothing but git and
# make added; clones the committed state of this repository into it; runs `make demo`,
# `make demo` again without a network, and `make test`. With a COMMAND, runs that instead.
# Where packages come from and how (mirror, certificates, pip's settings) is taken from
# this machine when the script runs. A DIRECTORY that exists is used as it is, so a failed
# run can go on; remove it to begin anew. SUITE=bookworm chooses the release.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
[[ $# -ge 1 && $EUID -eq 0 ]] || {
    printf 'usage (as root): scripts/prove_clean.sh DIRECTORY [COMMAND...]\n' >&2
    exit 2
}
root=$(realpath -m "$1")
shift
suite=${SUITE:-bookworm}

mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
        sed -n "s/^$suite //p" | head -n 1
}

bootstrap() {
    debootstrap --variant=minbase --include=ca-certificates,git,make "$suite" "$root.part" "$(mirror)"
    # The machine's way to packages: sources, keys, certificates, pip's settings.
    cp -a /etc/apt/. "$root.part/etc/apt/"
    rm -f "$root.part"/etc/apt/apt.conf.d/docker-*
    cp -a /usr/share/keyrings/. "$root.part/usr/share/keyrings/"
    for file in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/resolv.conf /etc/hosts; do
        [[ ! -e $file ]] || cp -L "$file" "$root.part$file"
    done
    mv "$root.part" "$root"
}

# What of the environment leads to package registries.
network_settings() {
    env | grep -E '^(https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY|PIP_INDEX_URL|PIP_CERT|SSL_CERT_FILE)=' || true
}

# inside [WRAPPER...] -- COMMAND: run a shell command in the clone.
inside() {
    local wrapper=()
    while [[ $1 != -- ]]; do
        wrapper+=("$1")
        shift
    done
    local settings
    mapfile -t settings < <(network_settings)
    env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" \
        "${wrapper[@]}" chroot "$root" bash -c "cd /root/headrace && $2" </dev/null
}

cleanup() {
    for mounted in dev/shm dev proc; do
        mountpoint -q "$root/$mounted" && umount "$root/$mounted"
    done
    return 0
}

[[ -d $root ]] || bootstrap
trap cleanup EXIT
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
mountpoint -q "$root/dev/shm" || mount -t tmpfs tmpfs "$root/dev/shm"

rm -rf "$root/root/headrace"
git clone -q --no-hardlinks "file://$repository" "$root/root/headrace"
if [[ -d $repository/../shared/corpus ]]; then
    mkdir -p "$root/root/shared"
    cp -a "$repository/../shared/corpus" "$root/root/shared/"
fi

if [[ $# -gt 0 ]]; then
    inside -- "$*"
    exit
fi
printf '== packages before: %s\n' "$(inside -- 'dpkg-query -f . -W | wc -c')"
printf '== make demo\n'
inside -- 'make demo'
printf '== make demo, again, without a network\n'
inside unshare -n -- 'make demo'
printf '== make test\n'
inside -- 'make test'
printf '== make demo and make test work on a bare %s\n' "$suite"
