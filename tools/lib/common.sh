# tools/serve and tools/test source this: it knows where things are and reports progress. The caller sets `steps`, the
# number of times that it will call `step`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/attention-explorer
logs=$root/build/log
step_number=0
SECONDS=0
mkdir -p "$cache" "$logs"
cd "$root"

say() { printf '%s\n' "$*"; }

step() {
    step_number=$((step_number + 1))
    printf '[%d/%d  %d:%02d] %s\n' "$step_number" "$steps" $((SECONDS / 60)) $((SECONDS % 60)) "$*"
}

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# logged NAME COMMAND...  shows the output on a terminal. Elsewhere the output goes to build/log/NAME.log, and
# its end is shown if the command fails.
logged() {
    local log=$logs/$1.log code=0
    shift
    if [[ -t 1 ]]; then
        "$@" || code=$?
    else
        "$@" >"$log" 2>&1 || code=$?
        if ((code)); then
            say "--- the end of ${log#"$root"/}"
            tail -n 80 "$log"
        fi
    fi
    ((code == 0)) || say "failed: $*"
    return "$code"
}
