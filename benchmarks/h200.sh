#!/usr/bin/env bash
# Everything the cuda device has to show, on a host with a GPU and no network.
#
#   benchmarks/h200.sh wheels   on a host with network and pip: puts into .whl/
#                               what the GPU host's Python lacks
#   benchmarks/h200.sh [STEP..] on the GPU host: builds, tests, measures; JSON
#                               files in $OUT (default: build/h200), a table last.
#                               Steps: those of STEPS below; default: all
#
# The GPU host needs Python 3.12 with jax, flax, optax, orbax-checkpoint, safetensors,
# tokenizers, matplotlib, jinja2, tqdm, pytest, pybind11, scikit-build-core,
# CMake and Ninja; nvcc and g++. About ten minutes on 16 cores; large_output needs
# 40 GiB of host memory and 17 GiB below $TMPDIR.
set -uo pipefail
cd "$(dirname "$0")/.."
ROOT=$PWD
OUT=${OUT:-$ROOT/build/h200}
WORK=${WORK:-/tmp/jaxkern-h200}
VENV=$WORK/venv
LIMIT=${LIMIT:-600} # Seconds, of one measurement.
STEPS=(ctest pytest conformance cheats throughput fault_storm timing large_output)

wheels() {
  mkdir -p .whl
  python3 -m pip download -q --no-deps --only-binary=:all: \
    --python-version 3.12 --implementation cp \
    --platform manylinux_2_28_x86_64 -d .whl \
    gguf ml-collections tensorboardX nlohmann-json cmeel cmeel-boost
  # 36 MB of Boost, 212 unpacked, for one small library: keep what it needs.
  python3 - .whl/cmeel_boost-*.whl <<'PYTHON'
import re, sys, zipfile
kept = re.compile(
  r'cmeel\.prefix/include/boost/([^/]+\.hpp|(align|assert|config|container_hash'
  r'|context|core|detail|integer|intrusive|pool|predef|preprocessor|smart_ptr'
  r'|type_traits)/.*)$'
  r'|cmeel\.prefix/lib/libboost_context\.|cmeel\.prefix/lib/cmake/'
  r'(Boost|boost_context|boost_headers)|[^/]*\.dist-info/'
)
path = sys.argv[1]
with zipfile.ZipFile(path) as wheel:
  files = {i: wheel.read(i) for i in wheel.infolist() if kept.match(i.filename)}
names = {i.filename for i in files}
with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as wheel:
  for info, data in files.items():
    if info.filename.endswith('.dist-info/RECORD'):
      lines = data.decode().splitlines(keepends=True)
      data = ''.join(line for line in lines if line.split(',')[0] in names)
    wheel.writestr(info, data)
PYTHON
  du -sh .whl
}

# step NAME COMMAND...: runs it, keeps its output in $OUT/log, notes how it went.
step() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@" >"$WORK/$name.log" 2>&1
  local status=$?
  { echo "== $name: $*"; cat "$WORK/$name.log"; } >>"$OUT/log"
  tail -n 12 "$WORK/$name.log"
  printf '%-22s %4d s   %s\n' "$name" $((SECONDS - start)) \
    "$([ $status = 0 ] && echo ok || echo "FAILED ($status)")" >>"$WORK/table"
  return $status
}

limited() {
  local name=$1
  shift
  step "$name" timeout -k 5 "$LIMIT" "$@"
}

# An environment of our own that also sees the packages of the host's python3.
prepare() {
  python3 -m venv --without-pip "$VENV" &&
    python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
      >"$(echo "$VENV"/lib/python3*/site-packages)/host.pth" &&
    "$VENV/bin/python3" -m pip install -q --no-index --no-deps --no-compile \
      --no-cache-dir "$ROOT"/.whl/*.whl
}

module() {
  python3 -m pip install -q --no-index --no-deps --no-build-isolation \
    --no-cache-dir -C build-dir="$WORK/module" "$ROOT"
}

libraries() {
  cmake -S "$ROOT" -B "$WORK/cpp" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DJAXKERN_TESTS=ON -DPython3_EXECUTABLE="$(command -v python3)" &&
    cmake --build "$WORK/cpp"
}

hardware() {
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem \
    --format=csv
  nvcc --version
  g++ --version | head -n 1
  grep -m 1 'model name' /proc/cpuinfo
  nproc
}

measure() {
  local bench=$ROOT/benchmarks device
  case $1 in
    ctest) limited ctest ctest --test-dir "$WORK/cpp" --output-on-failure -j 4 ;;
    pytest)
      limited pytest python3 -m pytest -q -p no:cacheprovider \
        --rootdir "$ROOT" -c "$ROOT/pyproject.toml" "$ROOT/tests/evaluator"
      ;;
    conformance)
      limited conformance_cpu python3 "$bench/conformance.py" \
        --device=cpu --out="$OUT/conformance_cpu.json"
      limited conformance_cuda python3 "$bench/conformance.py" \
        --device=cuda --out="$OUT/conformance_cuda.json" \
        --compare="$OUT/conformance_cpu.json"
      ;;
    throughput)
      for device in cuda cpu; do
        limited "throughput_$device" python3 "$bench/evaluator_throughput.py" \
          --device="$device" --out="$OUT/throughput_$device.json"
      done
      ;;
    fault_storm)
      limited fault_storm python3 "$bench/fault_storm.py" \
        --device=cuda --cached --out="$OUT/fault_storm_cuda.json"
      ;;
    cheats | timing | large_output)
      limited "$1" python3 "$bench/$1.py" \
        --device=cuda --out="$OUT/$1_cuda.json"
      ;;
  esac
}

main() {
  mkdir -p "$OUT" "$WORK"
  OUT=$(cd "$OUT" && pwd)
  : >"$OUT/log"
  : >"$WORK/table"
  # The installed package has the native module; the checkout must not hide it.
  export PYTHONUNBUFFERED=1 JAXKERN_CACHE=$WORK/cache
  export JAX_PLATFORMS=cpu
  step hardware hardware
  step wheels prepare || return 1
  export PATH=$VENV/bin:$PATH VIRTUAL_ENV=$VENV
  step build libraries &
  step module module
  wait
  # Elsewhere, so that the installed package is not hidden by the checkout's.
  cd "$WORK" || return 1
  local name
  [ $# -gt 0 ] || set -- "${STEPS[@]}"
  for name in "$@"; do measure "$name"; done
  echo
  cat "$WORK/table"
  ! grep -q FAILED "$WORK/table"
}

case ${1:-} in
  wheels) wheels ;;
  *)
    for name in "$@"; do
      [[ " ${STEPS[*]} " == *" $name "* ]] || {
        echo "$0: expected wheels or of ${STEPS[*]}, got $name" >&2
        exit 2
      }
    done
    main "$@"
    ;;
esac
