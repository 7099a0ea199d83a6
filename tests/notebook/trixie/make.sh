#!/usr/bin/env bash
# make.sh FOLDER
# Makes a folder with Debian 13, its notebook, ipywidgets and NumPy, from the mirror that this machine already uses.
# It wants root, and FOLDER appears only once it is complete. enter.sh runs programs in it.
set -euo pipefail

target=$1
packages=(jupyter-notebook python3-ipykernel python3-ipywidgets python3-numpy)
[[ $(id -u) == 0 ]] || { echo 'Only root can make a Debian in a folder.' >&2; exit 1; }

# All mounts are private and end with this script.
if [[ ${2:-} != private ]]; then
    exec unshare --mount --propagation private -- "$0" "$target" private
fi

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p)
[[ $mirror ]] || { echo 'No Debian mirror is configured here; run apt-get update.' >&2; exit 1; }
mkdir -p "$(dirname "$target")"
work=$(mktemp -d "$(dirname "$target")/.unpacking.XXXXXX")
clean() {
    umount --lazy "$work"/{proc,dev,etc/resolv.conf} 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT

/usr/sbin/debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg trixie "$work" "$mirror"

touch "$work/etc/resolv.conf"
mount --rbind /proc "$work/proc"
mount --rbind /dev "$work/dev"
mount --bind /etc/resolv.conf "$work/etc/resolv.conf"
inside() { env -u TMPDIR LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin DEBIAN_FRONTEND=noninteractive chroot "$work" "$@"; }

# No service may start.
printf '#!/bin/sh\nexit 101\n' >"$work/usr/sbin/policy-rc.d"
chmod +x "$work/usr/sbin/policy-rc.d"
# A mirror that lags behind is still signed.
inside apt-get -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none update
inside apt-get install -y --no-install-recommends "${packages[@]}"
inside dpkg-query -W "${packages[@]}"
inside apt-get clean
rm -rf "${work:?}"/var/lib/apt/lists/*

umount --lazy "$work"/{proc,dev,etc/resolv.conf}
chmod 755 "$work"
mv -T "$work" "$target" || [[ -d $target ]]
