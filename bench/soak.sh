#!/usr/bin/env bash
# Lets 200 programs run for some minutes while the server and its clients are killed at random moments, prints what
# server, keeper and disk use meanwhile, and fails when that grows or a program was lost.
#
#   bench/soak.sh [MINUTES [PTYARD]]        default: 5 minutes, target/release/ptyard
#
# SOAK_TERMINALS and SOAK_SEED change the number of programs and the order of things.
set -euo pipefail

minutes=${1:-5}
ptyard=$(realpath "${2:-target/release/ptyard}")
terminals=${SOAK_TERMINALS:-200}
RANDOM=${SOAK_SEED:-1}

room=$(mktemp -d)
export PTYARD_STATE=$room/state
# A client that is killed before it is more than a copy of this shell would run the trap too.
trap 'if [ "$BASHPID" = $$ ]; then "$ptyard" stop >/dev/null 2>&1 || true; rm -rf "$room"; fi' EXIT

server() { "$ptyard" --no-start version --json | sed -n 's/.*"server":{[^}]*"pid":\([0-9]*\).*/\1/p'; }
keeper() { cat "$PTYARD_STATE/keeper.lock"; }
# What is not there any more uses nothing.
rss_kb() { awk '/^VmRSS/ { kb = $2 } END { print kb + 0 }' "/proc/$1/status" 2>/dev/null || echo 0; }
fds() { find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l; }
pids() { "$ptyard" list --json | grep -o '"pid":[0-9]*' | sort; }
# Bytes on the disk beside the output itself.
overhead_kb() {
    local logs used
    logs=$("$ptyard" list --json | grep -o '"bytes_kept":[0-9]*' | awk -F: '{ sum += $2 } END { print int(sum / 1024) }')
    used=$(du -sk --exclude='*.log*' "$PTYARD_STATE" | cut -f1)
    echo $((used - logs))
}

# Prints more than a ring holds, so that nothing is new in what comes then: a line every few seconds, with nothing but
# a sleep forked.
printer='head -c 100000 /dev/zero | tr "\0" "."; n=0; while :; do echo "line $n of $0"; n=$((n + 1)); sleep $1; done'
for n in $(seq "$terminals"); do
    kind=$((n % 2 == 0)) && kind=--tty || kind=--json
    "$ptyard" exec "$kind" --name "p$n" --until quiet:1 -- sh -c "$printer" "p$n" $((2 + n % 7)) >/dev/null 2>&1
done
programs=$(pids)
[ "$(wc -l <<<"$programs")" = "$terminals" ] || { echo "FAILED: not all programs started"; exit 1; }

# The next thing that a client does.
choose() {
    case $((RANDOM % 5)) in
        0) act=(events --follow) ;;
        1) act=(wait "p$((1 + RANDOM % terminals))" --until exit) ;;
        2) act=(exec --until exit -- sh -c 'sleep 0.3; echo done') ;;
        3) act=(write "p$((1 + RANDOM % terminals))" --until quiet:100) ;;
        4) act=(exec --tty --until exit -- sh -c 'seq 1 20000') ;;
    esac
}

# Removes what has ended, so that only what leaks stays.
sweep() {
    "$ptyard" list --json | tr '{' '\n' | grep -o '"id":"t[0-9a-f]*"' | cut -d'"' -f4 | sort -u >"$room/all" || true
    while read -r id; do "$ptyard" rm "$id" >/dev/null 2>&1 || true; done <"$room/all"
}

samples=$room/samples
kills=0
printf '%6s %6s %10s %10s %10s %10s %10s\n' time kills srv_rss_kb srv_fds kpr_rss_kb kpr_fds disk_kb
begin=$SECONDS
end=$((begin + minutes * 60))
next_sample=$((begin + 10))
while [ "$SECONDS" -lt "$end" ]; do
    choose
    "$ptyard" "${act[@]}" </dev/null >/dev/null 2>&1 &
    client=$!
    sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
    case $((RANDOM % 10)) in
        0 | 1 | 2 | 3) kill -9 "$client" 2>/dev/null || true ;;
        4 | 5 | 6)
            victim=$(server)
            if [ -n "$victim" ]; then
                kill -9 "$victim" 2>/dev/null && kills=$((kills + 1))
            fi
            ;;
    esac
    kill "$client" 2>/dev/null || true
    wait "$client" 2>/dev/null || true
    if [ "$SECONDS" -ge "$next_sample" ]; then
        next_sample=$((SECONDS + 10))
        sweep
        # Another server each time: what it uses once everything was handed over.
        victim=$(server)
        printf '%6s %6s %10s %10s %10s %10s %10s\n' $((SECONDS - begin)) $kills "$(rss_kb "$victim")" "$(fds "$victim")" \
            "$(rss_kb "$(keeper)")" "$(fds "$(keeper)")" "$(overhead_kb)" | tee -a "$samples"
    fi
done
sweep

[ "$(pids)" = "$programs" ] || { echo "FAILED: programs were lost"; diff <(echo "$programs") <(pids) | head; exit 1; }
# The median of the last third against that of the first: a quarter and 4 MB more memory, 8 descriptors or 1 MB of disk
# are chance.
awk '
    { for (c = 3; c <= 7; c++) value[NR, c] = $c }
    function median(from, to, c,    i, j, n, sorted, swap) {
        n = 0
        for (i = from; i <= to; i++) sorted[++n] = value[i, c]
        for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++)
            if (sorted[j] < sorted[i]) { swap = sorted[i]; sorted[i] = sorted[j]; sorted[j] = swap }
        return sorted[int((n + 1) / 2)]
    }
    function check(what, c, most_more, factor,    early, late) {
        early = median(1, third, c); late = median(NR - third + 1, NR, c)
        printf "%-14s %10d -> %10d\n", what, early, late
        if (late > early * factor + most_more) { print "FAILED: " what " grows"; failed = 1 }
    }
    END {
        third = int(NR / 3)
        if (third < 1) { print "FAILED: too few samples"; exit 1 }
        check("server RSS kB", 3, 4096, 1.25)
        check("server fds", 4, 8, 1)
        check("keeper RSS kB", 5, 4096, 1.25)
        check("keeper fds", 6, 8, 1)
        check("disk kB", 7, 1024, 1)
        exit failed
    }' "$samples"
echo "$terminals programs outlived $kills kills of their server in $minutes minutes"
