#!/usr/bin/env bash
# first_verdict.sh [WHEEL]: the seconds from `pip install` to a first verdict,
# with an empty venv, an empty cache, no container, no server, no root. Without
# WHEEL one is built from the tree first, which is counted apart. Downloads are
# counted. Processor seconds are given too: on a busy machine the others mislead.
# Records results/first_verdict.json ($OUT).
set -euo pipefail
here=$(dirname "$(realpath "$0")")
root=$(dirname "$here")
python=${PYTHON:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export JAXKERN_CACHE="$place/cache" PIP_DISABLE_PIP_VERSION_CHECK=1
unset PYTHONPATH JAXKERN_NATIVE

now() { date +%s.%N; }
# Of all children that have ended, in seconds.
processor() { awk '{print ($16 + $17) / 100}' /proc/$$/stat; }
since() { echo "$(now) $1" | awk '{printf "%.2f", $1 - $2}'; }

wheel=${1:-}
build_s=0
if [[ -z $wheel ]]; then
  start=$(now)
  "$python" -m pip wheel -q --no-deps -w "$place" "$root" 2> "$place/log" ||
    { cat "$place/log"; exit 1; }
  build_s=$(since "$start")
  wheel=$(echo "$place"/*.whl)
fi

processor_before=$(processor)
start=$(now)
"$python" -m venv "$place/venv"
venv_s=$(since "$start")
"$place/venv/bin/pip" install -q "$wheel" 2> "$place/log" ||
  { cat "$place/log"; exit 1; }
installed_s=$(since "$start")
cd "$place"
verdict=$(venv/bin/python -c "
import pathlib, sys
from jaxkern.evaluator import evaluate
bundle, kernel = sys.argv[1:]
print(evaluate(bundle, pathlib.Path(kernel).read_text()).status)
" "$root/tests/standalone/bundle" "$root/tests/standalone/kernel.cu")
total_s=$(since "$start")
processor_s=$(echo "$(processor) $processor_before" | awk '{print $1 - $2}')
echo "venv $venv_s s, installed after $installed_s s," \
  "first verdict \"$verdict\" after $total_s s, of which $processor_s s of" \
  "processors (wheel built in $build_s s)"

PYTHONPATH="$here" venv/bin/python - "$verdict" "$build_s" "$venv_s" \
  "$installed_s" "$total_s" "$processor_s" "${OUT:-$here/results/first_verdict.json}" <<'END'
import sys

import record

verdict, *seconds, out = sys.argv[1:]
names = (
  *("wheel_built_s", "venv_s", "installed_s", "first_verdict_s"),
  "processor_s",
)
environment = record.environment() | {"command": "first_verdict.sh"}
times = dict(zip(names, map(float, seconds)))
record.write(out, environment | {"verdict": verdict} | times)
END
[[ $verdict == ok ]]
