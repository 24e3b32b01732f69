#!/usr/bin/env bash
# Build every wheel, install the usual set from them alone in a fresh environment, and run the demo in it.
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=${1:-dist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rm -rf "$wheels"
python3 -m venv "$work/build"
for folder in . plugins/*/; do
  "$work/build/bin/pip" wheel --quiet --no-deps --wheel-dir "$wheels" "$folder"
done

python3 -m venv "$work/fresh"
"$work/fresh/bin/pip" install --quiet --find-links "$wheels" perfcore-standard
export HOME="$work" XDG_CONFIG_HOME="$work/config" XDG_DATA_HOME="$work/data" XDG_CACHE_HOME="$work/cache"
(cd "$work" && fresh/bin/perf plugins list && fresh/bin/perf demo)
ls -l "$wheels"
