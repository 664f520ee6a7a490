#!/bin/sh
# Prints what a sample is documented to print after its first line: expected.sh SAMPLE RANKS
set -eu

awk -v sample="$1" -v n="$2" '
function line(rank, first, step, count,    text, i) {
    text = "rankId: " rank ", output: ["
    for (i = 0; i < count; ++i) {
        text = text " " first + i * step
    }
    print text " ]"
}
BEGIN {
    for (r = 0; r < n; ++r) {
        if (sample == "send_recv") {
            if (r % 2 == 1) line(r, r - 1, 0, n)
        } else if (sample == "batch_send_recv_ring") {
            line(r, (r + n - 1) % n, 0, n)
        } else if (sample == "all_reduce") {
            line(r, 0, n, n)
        } else if (sample == "reduce") {
            line(r, 0, r == 0 ? n : 0, n)
        } else if (sample == "reduce_scatter") {
            line(r, n * r, 0, 1)
        } else if (sample == "scatter") {
            line(r, r, 0, 1)
        } else {
            # broadcast, allgather, alltoall, alltoallv, alltoallvc
            line(r, 0, 1, n)
        }
    }
}'
