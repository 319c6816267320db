#!/usr/bin/env bash
# retrygate-mpi writes the bytes of retrygate on 1, 2 and 4 ranks, and a rank that finds an error stops all.
# Usage: mpi_test.sh RETRYGATE RETRYGATE_MPI MPIRUN
set -euo pipefail
retrygate=$1 retrygate_mpi=$2 mpirun=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# OpenMPI asks for leave to be root, and for more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# A test speaks to this machine alone.
export OMPI_MCA_btl=self,vader OMPI_MCA_hwloc_base_binding_policy=none
# OpenMPI keeps to the end what it took at the start.
export ASAN_OPTIONS=detect_leaks=0

fail() {
  echo "mpi_test: $*" >&2
  exit 1
}
fleet=(sim --policy full-jitter --policy exponential --scenario outage-then-limit --threads 1)
study=("${fleet[@]}" --seeds 1..7)
for format in json jsonl csv text; do
  "$retrygate" "${study[@]}" --format "$format" --out "alone.$format"
done
for ranks in 1 2 4; do
  for format in json jsonl csv text; do
    [[ $ranks == 2 || $format == json ]] || continue
    "$mpirun" -n "$ranks" "$retrygate_mpi" "${study[@]}" --format "$format" --out "together.$format"
    cmp "alone.$format" "together.$format" || fail "$ranks ranks write other bytes as $format"
  done
done
# More ranks than seeds; what goes to the standard output.
"$mpirun" -n 4 "$retrygate_mpi" "${fleet[@]}" --seeds 1..2 --format csv >two.csv
"$retrygate" "${fleet[@]}" --seeds 1..2 --format csv | cmp - two.csv || fail "ranks without a seed spoil the output"

# expect CODE WORDS COMMAND...: ends with the code, says the words, and leaves no file.
expect() {
  local code=$1 words=$2 status=0
  shift 2
  timeout 60 "$mpirun" "$@" >out.txt 2>err.txt || status=$?
  [[ $status -eq $code ]] || { cat err.txt >&2; fail "exit $status, not $code: $*"; }
  grep -qF -- "$words" err.txt || { cat err.txt >&2; fail "no word of '$words': $*"; }
  [[ ! -e none.json ]] || fail "a file in spite of errors: $*"
}
good=("$retrygate_mpi" "${study[@]}" --format json --out none.json)
expect 2 "did you mean 'full-jitter'" -n 4 "${good[@]}" --policy full-jiter
[[ $(grep -c "did you mean" err.txt) -eq 1 ]] || fail "what all ranks find is said more than once"
expect 2 "on rank 1 of 3:" -n 1 "${good[@]}" : -n 1 "${good[@]}" --policy missing.toml#p : -n 1 "${good[@]}"
expect 2 "on rank 0 of 2:" -n 1 "${good[@]}" --policy missing.toml#p : -n 1 "${good[@]}"
expect 2 "on rank 1 of 2:" -n 1 "${good[@]}" : -n 1 "${good[@]}" --unheard-of
expect 2 "on rank 0 of 2:" -n 1 "${good[@]}" --unheard-of : -n 1 "${good[@]}"
# Nobody simulates what rank 0 has no place for: the run itself would fail with other words.
expect 2 "none/none.json" -n 2 "$retrygate_mpi" sim --policy fixed:base=1ns,max_attempts=100000000 --scenario outage-then-limit \
  --threads 1 --out none/none.json
! grep -q "within a second of virtual time" err.txt || fail "the ranks simulate before they look for a place for the result"
expect 2 "these are not the policies" -n 1 "${good[@]}" : -n 1 "${good[@]}" --policy fixed
expect 2 "share the work of \`sim\` alone" -n 2 "$retrygate_mpi" gate
