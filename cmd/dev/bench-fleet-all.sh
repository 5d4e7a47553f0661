#!/usr/bin/env bash
# Records all runs of the fleet benchmark, in about 100 minutes: the two sizes
# that have budgets, twice the services, the growth, folders of their own, three
# replicas of which one is killed, and a change on all clusters. Runs that take a small part of
# the machine run side by side; what is compared runs in the same group. Logs
# are in $LOGS, records in test/benchmarks/fleet, the table in
# docs/benchmarks.md.
set -u
cd "$(dirname "$0")/../.."
LOGS=${LOGS:-$(mktemp -d -t axle-bench-fleet-XXXX)}
mkdir -p "$LOGS" bin
hub=${HUB:-}
if [ -z "$hub" ]; then
  hub=$PWD/bin/axle-hub
  go build -trimpath -o "$hub" ./cmd/axle-hub || exit 1
fi
go build -o bin/dev ./cmd/dev || exit 1
failed=0
names=()
run() { # name, flags
  local name=$1
  shift
  bin/dev bench-fleet --name "$name" --hub "$hub" ${OUT:+--out "$OUT"} "$@" >"$LOGS/$name.log" 2>&1 &
  names+=("$!:$name")
}
finish() {
  for one in "${names[@]}"; do
    if wait "${one%%:*}"; then
      echo "$(date +%T) ${one#*:}: $(tail -1 "$LOGS/${one#*:}.log")"
    else
      failed=1
      echo "$(date +%T) ${one#*:} FAILED, see $LOGS/${one#*:}.log: $(tail -1 "$LOGS/${one#*:}.log")"
    fi
  done
  names=()
}
echo "$(date +%T) logs are in $LOGS"
only=${ONLY:-budget growth own replicas large}
case " $only " in *" budget "*)
  run 1100x10 --clusters 1100
  run 1100x10-idle --clusters 1100 --commits 0
  run 1100x20-idle --clusters 1100 --services 20 --commits 0 ;;
esac
case " $only " in *" growth "*)
  for n in 100 300 1000 3000; do
    run "growth-$(printf %05d $n)" --clusters $n
  done ;;
esac
finish
case " $only " in *" replicas "*)
  run 1100x10-postgres --clusters 1100 --postgres --poll 60s
  run 1100x10-replicas --clusters 1100 --replicas 3 --poll 60s
  run 1100x10-replicas-killed --clusters 1100 --replicas 3 --poll 60s --kill ;;
esac
finish
case " $only " in *" own "*)
  run 1100x10-own --clusters 1100 --own --commits 30s ;;
esac
finish
case " $only " in *" large "*)
  run growth-10000-all --clusters 10000 --all
  finish ;;
esac
exit $failed
