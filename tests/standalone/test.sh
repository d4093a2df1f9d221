#!/usr/bin/env bash
# test.sh BUILD CMAKE: installs what BUILD holds, moves it away from there, and uses
# it like a stranger: from an outside CMake project, and from a shell script
# with no Python on its PATH.
set -euo pipefail
build=$(realpath "$1")
cmake=$2
here=$(dirname "$(realpath "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export JAXKERN_CACHE="$place/cache"
unset JAXKERN_NATIVE

expect() {  # expect STATUS COMMAND...: what it prints, and its exit code
  local status=$1 code=0 output
  shift
  output=$("$@" 2> "$place/stderr") || code=$?
  echo "$output"
  [[ $output == *": $status, "* && $code == $([[ $status == ok ]] && echo 0 || echo 1) ]] ||
    { echo "expected $status, got exit code $code"; cat "$place/stderr"; exit 1; }
}

"$cmake" --install "$build" --prefix "$place/first" > "$place/log"
mv "$place/first" "$place/prefix"
cp -r "$here/bundle" "$here/kernel.cu" "$place"
sed 's/y\[i\] = /y[i] = 1 + /' "$place/kernel.cu" > "$place/wrong.cu"

"$cmake" -S "$here/consumer" -B "$place/consumer" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$place/prefix" > "$place/log"
"$cmake" --build "$place/consumer" > "$place/log" || { cat "$place/log"; exit 1; }
for program in consumer consumer_static; do
  expect ok "$place/consumer/$program" "$place/bundle" "$place/kernel.cu"
  expect wrong_answer "$place/consumer/$program" "$place/bundle" \
    "$place/wrong.cu"
done

# Coreutils, a shell, the C++ compiler with its assembler and linker.
mkdir "$place/path"
for program in sh basename cat cp cut dirname echo env head ls mkdir mktemp mv \
    printf rm sort tail tr uname wc g++ c++ as ld; do
  found=$(type -P "$program") && ln -s "$found" "$place/path/$program"
done
ln -s "$place/prefix/bin/jaxkern-eval" "$place/path/"
bare=("$(type -P env)" -i "PATH=$place/path" "JAXKERN_CACHE=$place/cache2")
! "${bare[@]}" sh -c 'command -v python || command -v python3'
expect ok "${bare[@]}" sh "$here/evaluate.sh" "$place/bundle" "$place/kernel.cu"
expect wrong_answer "${bare[@]}" sh "$here/evaluate.sh" "$place/bundle" \
  "$place/wrong.cu"
