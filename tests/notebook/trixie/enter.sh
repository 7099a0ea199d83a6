#!/usr/bin/env bash
# enter.sh ROOT SHARED COMMAND...
# Runs a program in the Debian of the folder ROOT, with this machine's network and, under its own path, the folder
# SHARED. What it mounts is private and ends with the program.
set -euo pipefail

if [[ ${entered:-} != yes ]]; then
    entered=yes exec unshare --mount --propagation private -- "$0" "$@"
fi
unset entered TMPDIR
root=$1 shared=$2
shift 2
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"
PATH=/usr/bin LC_ALL=C.UTF-8 exec /usr/sbin/chroot "$root" "$@"
