#!/bin/bash
# Do intervals of `advise --prove` hold? Five proofs on each of two devices, then one long
# confirmation of the start and what each proof kept per device, and a count of the intervals that
# hold its ratio. Resumable: what has its result file is not measured again.
#   bench/proofs.sh target/release/mydyno DIRECTORY     (quiet machine; about 3 h)
set -u
BINARY=$(readlink -f "${1:?usage: proofs.sh MYDYNO DIRECTORY}")
WORK=$(realpath -m "${2:?usage: proofs.sh MYDYNO DIRECTORY}")
PAIRS=${PAIRS:-12}                  # fresh windows of each cell in the long confirmation
DEVICES=${DEVICES:-"sata-850pro nvme-pm1725"}
SEEDS=${SEEDS:-"1 2 3 4 5"}
COMMON="--engine mysql-5.7 --preset config-1 -w 4 -c 32 --warmup 1s --window 3s --dilate 2"
mkdir -p "$WORK"; cd "$WORK" || exit 1
LOG=$WORK/proofs.log
say() { echo "$(date -u +%FT%TZ) $*" | tee -a "$LOG"; }
say "begin: $BINARY ($("$BINARY" --version)), load $(cut -d' ' -f1-3 /proc/loadavg)"

for seed in $SEEDS; do for device in $DEVICES; do
    out=$device-$seed.json
    [ -s "$out" ] && continue
    say "proof: $device, seed $seed"
    begun=$(date +%s)
    # shellcheck disable=SC2086
    if "$BINARY" advise --prove $COMMON --data "$device" --seed "$seed" --json \
        --results "$WORK/$device-$seed.db" > "$out.part" 2>> "$LOG"; then
        mv "$out.part" "$out"
        say "done in $(( $(date +%s) - begun )) s"
    else
        say "FAILED ($?): $device, seed $seed; see $out.part"
    fi
done; done

# The truth: blocks of fresh windows, each with one of the start and of every set that was kept, in
# an order that turns.
python3 - "$WORK" $DEVICES <<'PY' | tee -a "$LOG"
import json, pathlib, sys
work, devices = pathlib.Path(sys.argv[1]), sys.argv[2:]
for device in devices:
    sets = []
    for path in sorted(work.glob(f"{device}-?.json")):
        proof = json.loads(path.read_text())["proof"]
        kept = dict(line.split(" = ", 1) for line in proof["option_lines"])
        if kept and kept not in sets:
            sets.append(kept)
    (work / f"{device}.sets.json").write_text(json.dumps(sets))
    print(f"{device}: {len(sets)} different sets were kept")
PY

run_cell() { # device, name, seed, file, --set ...
    local device=$1 name=$2 seed=$3 file=$4; shift 4
    [ -s "$file" ] && return
    # shellcheck disable=SC2086
    if "$BINARY" run $COMMON --data "$device" --seed "$seed" --json \
        --results "$WORK/$device-truth.db" "$@" > "$file.part" 2>> "$LOG"; then
        mv "$file.part" "$file"
    else
        say "FAILED ($?): $device $name $seed"
    fi
}
for device in $DEVICES; do
    sets=$(python3 -c "import json;print(len(json.load(open('$device.sets.json'))))")
    for pair in $(seq 1 "$PAIRS"); do
        seed=$((1000 + pair)); say "truth: $device, block $pair of $PAIRS"
        order=$(seq 0 "$sets"); [ $((pair % 2)) = 0 ] && order=$(seq "$sets" -1 0)
        for cell in $order; do # 0 is the start
            mapfile -t set < <(python3 -c "
import json
if $cell:
    for name, value in json.load(open('$device.sets.json'))[$cell - 1].items():
        print('--set'); print(f'{name}={value}')")
            run_cell "$device" "$cell" "$seed" "truth-$device-$cell-$pair.json" "${set[@]}"
        done
    done
done

python3 - "$WORK" "$PAIRS" $DEVICES <<'PY' | tee -a "$LOG"
import json, math, pathlib, sys
work, pairs, devices = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
hold = of = 0
for device in devices:
    sets = json.loads((work / f"{device}.sets.json").read_text())
    def nopm(cell, pair):
        path = work / f"truth-{device}-{cell}-{pair}.json"
        return json.loads(path.read_text())["nopm"] if path.exists() else None
    truth = {}
    for cell in range(1, len(sets) + 1):
        both = [(nopm(0, p), nopm(cell, p)) for p in range(1, pairs + 1)]
        logs = [math.log(b / a) for a, b in both if a and b]
        if len(logs) < 2: continue
        mean = sum(logs) / len(logs)
        error = math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1) / len(logs))
        truth[cell] = math.exp(mean)
        print(f"{device} set {cell}: {truth[cell]:.3f} times (standard error {100*error:.1f} %, "
              f"{len(logs)} pairs): {sets[cell - 1]}")
    for path in sorted(work.glob(f"{device}-?.json")):
        proof = json.loads(path.read_text())["proof"]
        whole = proof["whole"]
        kept = dict(line.split(" = ", 1) for line in proof["option_lines"])
        if not whole or whole.get("ratio_low") is None:
            print(f"{path.name}: nothing kept, or no interval"); continue
        true = truth.get(sets.index(kept) + 1)
        if true is None: continue
        holds = whole["ratio_low"] <= true <= whole["ratio_high"]
        hold += holds; of += 1
        print(f"{path.name}: {whole['ratio']:.3f} ({whole['ratio_low']:.3f} to "
              f"{whole['ratio_high']:.3f}), truth {true:.3f}: {'holds' if holds else 'MISSES'}")
print(f"intervals that hold: {hold} of {of}")
PY
