# tools/serve and tools/test source this for the programs and libraries that they need. Each is looked for first. On
# Debian, what is missing is installed; elsewhere it is named, and CMake fetches the libraries.

emscripten_version=3.1.69
emscripten_minimum=3.1.60

build_packages=(
    cmake ninja:ninja-build node:nodejs npm git /usr/bin/python3:python3 g++
    clang-19 lld-19 llvm-19 libclang-rt-19-dev xz:xz-utils ca-certificates debian-archive-keyring
    libeigen3-dev nlohmann-json3-dev fonts-inter fonts-jetbrains-mono fonts-dejavu-core
)
test_packages=(clang-format-19 clang-tidy-19 python3-numpy)

on_debian() { [[ -r /etc/debian_version && -x /usr/bin/apt-get ]]; }

# Testing and unstable have no number, and have everything that Debian 13 has.
debian_12() { [[ $(</etc/debian_version) == 12* ]]; }

# install_packages NAME...  installs what is missing. COMMAND:PACKAGE is missing if the command is not on PATH, any
# other name if there is neither a command nor an installed package of that name.
install_packages() {
    local missing=() name
    for name in "$@"; do
        command -v "${name%%:*}" >/dev/null || dpkg-query -W -f '${Status}' "${name#*:}" 2>/dev/null |
            grep -q ' installed$' || missing+=("${name#*:}")
    done
    ((${#missing[@]})) || return 0
    [[ $(id -u) == 0 ]] ||
        fail "some packages are missing; as root: apt-get install --no-install-recommends ${missing[*]}"
    say "      installing ${missing[*]}"
    logged apt-update apt-get update
    DEBIAN_FRONTEND=noninteractive logged apt-install \
        apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "${missing[@]}"
}

# Succeeds if there is already an Emscripten that is new enough.
has_emscripten() {
    local emcc version oldest
    for emcc in "${EMSDK:-}/upstream/emscripten/emcc" "$(command -v emcc)" /usr/share/emscripten/emcc; do
        [[ -x $emcc ]] || continue
        version=$(grep -oE '[0-9]+\.[0-9]+\.[0-9]+' "$(dirname "$(readlink -f "$emcc")")/emscripten-version.txt")
        oldest=$(printf '%s\n' "$version" "$emscripten_minimum" | sort -V | sed -n 1p)
        [[ $oldest == "$emscripten_minimum" ]] && return 0
    done
    return 1
}

# keep FOLDER WHAT...  unpacks WHAT into a folder of the cache, once.
keep() {
    local folder=$1
    shift
    [[ -d $cache/$folder ]] && return 0
    say "      fetching $folder"
    find "$cache" -maxdepth 1 -name '.unpacking.*' -mmin +60 -exec rm -rf {} +
    logged "$folder" tools/lib/unpack.sh "$cache/$folder" "$@"
}

# Installs what both commands need to build.
install_build_tools() {
    local program
    if on_debian; then
        has_emscripten || debian_12 || build_packages+=(emscripten)
        install_packages "${build_packages[@]}"
        has_emscripten || keep "emscripten-$emscripten_version" emscripten
        # Without these, CMake asks upstream.
        keep catch2-3.7.1 source catch2 trixie 3.7.1 || say '      CMake will fetch Catch2 from upstream'
        keep zlib-1.3.1 source zlib trixie '1.3.dfsg+really1.3.1' || say '      CMake will fetch zlib from upstream'
        keep imgui-1.92.2b source imgui forky 1.92.2b || say '      CMake will fetch Dear ImGui from upstream'
    else
        has_emscripten || fail "please install Emscripten $emscripten_minimum or later and put emcc on PATH"
        for program in cmake ninja node npm git c++; do
            command -v "$program" >/dev/null || fail "please install $program and put it on PATH"
        done
    fi
}

# Installs what the tests need beyond that, and sets chromium, clang_format and clang_tidy.
install_test_tools() {
    local program
    if on_debian; then
        install_packages "${test_packages[@]}"
        # This opens a page with a tenth of the work of a full Chromium.
        find_chromium >/dev/null || install_packages chromium-headless-shell
    fi
    chromium=${CHROMIUM:-$(find_chromium)} ||
        fail 'please install Chromium and put it on PATH, or name it in CHROMIUM'
    clang_format=$(first_of clang-format-19 clang-format) || fail 'please install clang-format 19'
    clang_tidy=$(first_of clang-tidy-19 clang-tidy) || fail 'please install clang-tidy 19'
}

find_chromium() { first_of chromium-headless-shell chromium chromium-browser google-chrome; }

first_of() {
    local program
    for program in "$@"; do command -v "$program" && return 0; done
    return 1
}

# npm_install FOLDER  Installs the locked packages of a folder when its lock file has changed.
npm_install() {
    [[ $1/node_modules/.package-lock.json -nt $1/package-lock.json ]] ||
        (cd "$1" && logged npm npm ci --no-audit --no-fund --ignore-scripts)
}

# configure PRESET  Takes clang 19 as the compiler where there is one.
configure() {
    local options=()
    if [[ $1 != web* && -z ${CXX:-} && ! -f build/$1/CMakeCache.txt && -x $(command -v clang++-19) ]]; then
        options=(-DCMAKE_CXX_COMPILER=clang++-19)
    fi
    logged "configure-$1" cmake --preset "$1" "${options[@]}"
}

# build PRESET [TARGET...]
build() {
    configure "$1" && logged "build-$1" cmake --build --preset "$1" ${2:+--target "${@:2}"}
}
