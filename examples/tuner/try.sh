#!/bin/sh
# Runs samples with a plugin and looks into the log for what ran:
# try.sh PLUGIN CONFIGURATION FOLDER_OF_SAMPLES
set -eu

plugin=$1 configuration=$2 samples=$3
output="$samples/tuner.output"

# NAME "WORDS OF THE LOG" [ARGUMENTS]: the sample checks its values itself.
try() {
    sample=$1 words=$2
    shift 2
    if ! HCCL_TUNER_PLUGIN=$plugin HCCL_TUNER_CONFIG_FILE=$configuration \
        ASCEND_SLOG_PRINT_TO_STDOUT=1 ASCEND_GLOBAL_LOG_LEVEL=1 \
        "$samples/$sample" "$@" >"$output"; then
        cat -- "$output"
        echo "$sample $*: failed" >&2
        exit 1
    fi
    if ! grep -q -- "$words" "$output"; then
        cat -- "$output"
        echo "$sample $*: the log does not say: $words" >&2
        exit 1
    fi
    echo "$sample $*: passed, $words"
}

for ranks in 2 3 8; do
    try all_reduce "AllReduce, $((4 * ranks)) bytes of float32, by nhr (tuned" "$ranks"
    try allgather "AllGather, 4 bytes of float32, by ring (tuned" "$ranks"
done
# Processes, each with a plugin of its own.
try all_reduce "AllReduce, 16 bytes of float32, by nhr (tuned" --processes 4
