#!/bin/sh
# Runs a sample and compares what it prints: run.sh FOLDER SAMPLE RANKS [--processes]
set -eu

folder=$1 sample=$2 ranks=$3
shift 3
name="$sample, $ranks ranks${1:+, processes}"
output="$folder/$sample.output"
here=$(dirname -- "$0")

if ! "$folder/$sample" "$@" "$ranks" >"$output"; then
    cat -- "$output"
    echo "$name: failed" >&2
    exit 1
fi
{
    # The machine may have more devices than are used.
    sed -n '1s/^Found [0-9]* NPU device(s) available$/Found N NPU device(s) available/p' "$output"
    sed 1d "$output"
} >"$output.found"
{
    echo "Found N NPU device(s) available"
    sh "$here/expected.sh" "$sample" "$ranks"
} >"$output.expected"
if ! diff -u "$output.expected" "$output.found"; then
    echo "$name: not what is documented" >&2
    exit 1
fi
echo "$name: passed"
