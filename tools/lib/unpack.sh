#!/usr/bin/env bash
# unpack.sh FOLDER emscripten | FOLDER source NAME SUITE VERSION
# Fills FOLDER with software from another Debian suite, taken from the mirror that this machine already uses and
# verified by apt. Nothing outside FOLDER changes, and FOLDER appears only once it is complete.
set -euo pipefail

target=$1
work=$(mktemp -d "$(dirname "$target")/.unpacking.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p apt/lists/partial apt/archives/partial packages result

# from_suite KIND SUITE COMMAND...  runs apt-get with a configuration of its own; KIND is deb or deb-src.
from_suite() {
    local kind=$1 suite=$2 mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    shift 2
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
        sed -n 1p)
    [[ $mirror ]] || { echo 'No Debian mirror is configured here; run apt-get update.' >&2; exit 1; }
    echo "$kind [signed-by=$keyring] $mirror $suite main" >apt/sources.list
    local options=(
        -o "Dir::Etc::SourceList=$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
        -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt" -o Acquire::Languages=none
        -o APT::Sandbox::User=root -o APT::Default-Release=
        # A mirror that lags behind is still signed, and what is taken from it has a known version.
        -o Acquire::Check-Valid-Until=false
    )
    apt-get "${options[@]}" update
    (cd packages && apt-get "${options[@]}" "$@")
}

# Unpacks Debian 13's Emscripten, with the C library that its Binaryen needs, to run on Debian 12.
emscripten() {
    local package program libraries loader tree=result/usr/share/emscripten
    from_suite deb trixie download emscripten binaryen node-acorn libc6 libstdc++6 libgcc-s1
    for package in packages/*.deb; do
        dpkg --fsys-tarfile "$package" | tar -x -C result --exclude '*/wasm64-emscripten' \
            --exclude './usr/share/emscripten/test' --exclude './usr/share/doc'
    done

    # Binaryen's programs are each started by the loader that belongs to their library.
    libraries=$(cd result && dirname usr/lib/*-linux-gnu/libc.so.6)
    loader=$(cd result && ls "$libraries"/ld-linux-*.so.*)
    mkdir -p result/binaryen/bin
    for program in result/usr/bin/wasm*; do
        program=$(basename "$program")
        cat >"result/binaryen/bin/$program" <<END
#!/bin/sh
exec "$target/$loader" --library-path "$target/$libraries" "$target/usr/bin/$program" "\$@"
END
        chmod +x "result/binaryen/bin/$program"
    done

    ln -s ../nodejs "$tree/node_modules"
    sed -i 's|^  PYTHON=$EMSDK_PYTHON$|  PYTHON=/usr/bin/python3|' "$tree"/em*
    cat >"$tree/.emscripten" <<END
import shutil
LLVM_ROOT = '/usr/bin'
LLVM_ADD_VERSION = CLANG_ADD_VERSION = '19'
BINARYEN_ROOT = '$target/binaryen'
NODE_JS = shutil.which('node')
FROZEN_CACHE = True
END
    "$tree/emcc" --version
}

# Unpacks an upstream source as Debian keeps it. Debian's own changes, which a mirror may lack for a while after an
# update, are not asked for.
source_of() {
    from_suite deb-src "$2" source --download-only --tar-only "$1"
    tar -x --strip-components 1 -C result -f packages/"$1"_"$3"*.orig.tar.*
}

"${2/#source/source_of}" "${@:3}"
chmod 755 result
mv -T result "$target" || [[ -d $target ]]
