#!/bin/bash
# NOPM of one engine in dilated time, by K, on a machine that does nothing else.
#
#   bench/dilated.sh target/release/mydyno [ENGINE [SECONDS [MORE OPTIONS FOR cpu]]]
#
# Builds nothing: the engine must be installed, and the two libraries lie beside the program.
# cpu: equal real time before and in the window at each K, so that all do equal work; the ratio is
#   NOPM by K times the NOPM at K = 1 of the same round. Wanted: 0.90 to 1.10 at K = 2 and 4.
# device: cloud-gp3, which 32 connections fill at K = 1 too; equal dilated lengths; the ratio is
#   NOPM by that at K = 1 of the same round. Wanted: 0.95 to 1.05. K = 8 in the first round only.
# K is in another order in each round. Rounds are begun as long as they fit into the time.
set -u
mydyno=$(readlink -f "${1:?path of the mydyno binary}")
engine=${2:-mysql-8.0}
limit_s=${3:-1200}
work=$(mktemp -d)
cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
load=$(cut -d' ' -f1 /proc/loadavg)
echo "$("$mydyno" --version), $(nproc) cores, $(date -u +%FT%TZ), load $load"

of_cpu=(-w 4 -c 8 --set innodb_buffer_pool_size=1G --set innodb_log_file_size=512M
    --set innodb_flush_log_at_trx_commit=2 --data nvme-pcie4 "${@:4}")
of_device=(-w 10 -c 32 --preset config-3 --set innodb_spin_wait_delay=6 --data cloud-gp3)

# run KIND K WARMUP_MS WINDOW_MS: one line of the table of runs
run() {
    local kind=$1 k=$2 file="$1-$2-$SECONDS.json"
    local -n options="of_$kind"
    timeout 400 "$mydyno" run --engine "$engine" "${options[@]}" --dilate "$k" \
        --warmup "$3ms" --window "$4ms" --interval "$(($4 / 4))ms" --json >"$file" 2>"$file.err" ||
        { echo "$kind K=$k failed:"; tail -3 "$file.err"; return 1; }
    python3 - "$round" "$kind" "$k" "$file" <<'P' | tee -a runs.txt
import json, sys
round_, kind, k, file = sys.argv[1:]
d = json.load(open(file))
share = lambda v: "-" if v is None else f"{100 * v:.1f}"
busy = ((d.get("resources") or {}).get("host") or {}).get("cpu_busy_share")
by = ((d.get("resources") or {}).get("bound") or {}).get("by")
print("run", round_, kind, k, f"{d['nopm']:.0f}", "fidelity%", share(d.get("fidelity")),
      "late%", share(d.get("lateness_share")), "cores%", share(busy), "bound", by)
P
}

cpu() { for k in $1; do run cpu "$k" $((8000 / k)) $((12000 / k)); done; }
device() { for k in $1; do run device "$k" 4000 45000; done; }

# The images: not measured.
round=0
run cpu 1 500 1000 >/dev/null
run device 1 500 1000 >/dev/null
rm -f runs.txt
orders=("1 2 4 8" "8 4 2 1" "2 8 1 4" "4 1 8 2")
round=1
longest=0
while begun=$SECONDS; [ "$round" -le 2 ] || [ $((SECONDS + longest + 10)) -lt "$limit_s" ]; do
    [ "$round" = 2 ] && [ $((SECONDS + 300)) -ge "$limit_s" ] && break
    order=${orders[$(((round - 1) % 4))]}
    cpu "$order"
    if [ "$round" = 1 ]; then
        device "$order"
    else
        device "${order//8/}"
        longest=$((SECONDS - begun))
    fi
    round=$((round + 1))
done

python3 - <<'P'
import math
runs = {}
for line in open("runs.txt"):
    _, round_, kind, k, nopm, *_ = line.split()
    runs[kind, int(k), int(round_)] = float(nopm)
rounds = sorted({r for _, _, r in runs})
print(f"\n{'kind':8}{'K':>3}  {'ratios, one a round':40}{'mean':>6}  wanted")
for kind in ("cpu", "device"):
    base = [runs[kind, 1, r] for r in rounds if (kind, 1, r) in runs]
    print(f"{kind:8}{1:>3}  NOPM " + ", ".join(f"{n:,.0f}" for n in base))
    for k in (2, 4, 8):
        ratios = [runs[kind, k, r] / runs[kind, 1, r] / (k if kind == "cpu" else 1)
                  for r in rounds if (kind, k, r) in runs and runs.get((kind, 1, r))]
        if not ratios:
            continue
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        bound = 0.10 if kind == "cpu" else 0.05
        wanted = "-" if k == 8 and kind == "cpu" else f"{1 - bound:.2f} to {1 + bound:.2f}"
        verdict = "" if wanted == "-" else (" ok" if abs(mean - 1) <= bound else " NOT MET")
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{kind:8}{k:>3}  {each:40}{mean:6.3f}  {wanted}{verdict}")
P
echo "took ${SECONDS} s"
