#!/bin/sh
# evaluate.sh BUNDLE KERNEL.cu: prints the verdict and succeeds if it is "ok".
set -eu
result=$(jaxkern-eval --bundle="$1" --device=cpu --repetitions=20 "$2")
status=${result#*\"status\":\"}
status=${status%%\"*}
speedup=${result#*\"speedup\":}
speedup=${speedup%%,*}
echo "$2: $status, $speedup times as fast as the baseline"
[ "$status" = ok ]
