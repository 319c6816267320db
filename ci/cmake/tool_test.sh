#!/usr/bin/env bash
# Installs the command of a build and uses it as who knows nothing of the source tree: the shipped suites, the man
# page, the completion. Usage: ci/cmake/tool_test.sh BUILD_FOLDER
set -euo pipefail

build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
cmake --install "$build" --prefix "$prefix" --component tool >"$scratch/log" || {
  cat "$scratch/log"
  exit 1
}

failed=0
fail() {
  echo "tool_test: $*" >&2
  failed=1
}

for file in bin/retrygate share/man/man1/retrygate.1 share/bash-completion/completions/retrygate \
  share/doc/retrygate/copyright share/doc/retrygate/CHANGELOG.md; do
  [[ -s $prefix/$file ]] || fail "$file is not installed"
done

# Without an environment and away from the sources.
mkdir "$scratch/empty"
installed() (
  cd "$scratch/empty"
  env -i PATH=/usr/bin:/bin "$prefix/bin/retrygate" "$@"
)
status=0
installed gate jitter-removed >"$scratch/out" || status=$?
[[ $status -eq 1 && $(tail -1 "$scratch/out") == "Verdict: fail (exit 1)" ]] ||
  fail "gate jitter-removed exits with $status and says $(tail -1 "$scratch/out")"

# Every command stands in the page, and the formatter has nothing to say against it.
for command in $(installed completion bash | sed -n "s/^    words='\(.*\) -h.*/\1/p"); do
  grep -q "^\.SS $command\$" "$prefix/share/man/man1/retrygate.1" || fail "the man page lacks $command"
done
if command -v groff >/dev/null; then
  complaints=$(groff -man -ww -z "$prefix/share/man/man1/retrygate.1" 2>&1)
  [[ -z $complaints ]] || fail "groff says of the man page: $complaints"
fi

# complete WORD..: what bash would offer in place of the last word, in order of the alphabet.
# shellcheck disable=SC1091
source "$prefix/share/bash-completion/completions/retrygate"
complete_words() {
  COMP_WORDS=(retrygate "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _retrygate
  printf '%s\n' "${COMPREPLY[@]}" | sort | paste -s -d ' '
}
offers() {
  local expected=$1 offered
  shift
  offered=$(complete_words "$@")
  [[ $offered == "$expected" ]] || fail "completion of 'retrygate $*' offers '$offered', not '$expected'"
}
offers "sensitivity show sim stats" s
offers "--help" --h
offers "--scenario --seeds --set --shard" sim --s
offers "outage-then-limit outage-then-limit-lan" sim --scenario outage
offers "outage-then-limit outage-then-limit-lan" sim --scenario = outage
offers "fail pass warn" gate --inconclusive ""
offers "fail pass warn" gate --inconclusive =
offers "jitter-removed" gate j
offers "cap-goes-on cap-respected" check full-jitter --only cap
offers "t_welch" stats t_w
offers "" gate --baseline ""
offers "full-jitter" compare --baseline full-
exit "$failed"
