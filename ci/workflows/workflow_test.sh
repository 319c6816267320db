#!/usr/bin/env bash
# The step for any CI server: exit codes are kept, the baseline is used where it is, a comment is never too long.
# Usage: ci/workflows/workflow_test.sh RETRYGATE
set -euo pipefail

script=$(cd "$(dirname "$0")" && pwd)/retrygate.sh
retrygate=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

failed=0
fail() {
  echo "workflow_test: $*" >&2
  failed=1
}
# run CODE ARGUMENTS..: the script must exit with CODE
run() {
  local expected=$1 status=0
  shift
  env -u GITHUB_ACTIONS -u GITHUB_STEP_SUMMARY -u BASELINE "$@" >out 2>err || status=$?
  [[ $status -eq $expected ]] || fail "$* exits with $status, not $expected: $(tail -1 out err)"
}

# The real one: a regression, told as text and on GitHub.
run 1 RETRYGATE="$retrygate" "$script" jitter-removed reports
[[ $(tail -1 out) == "Verdict: fail (exit 1)" ]] || fail "no verdict at the end: $(tail -1 out)"
for file in report.md report.sarif junit.xml comment.md; do
  [[ -s reports/$file ]] || fail "$file is not written"
done
cmp -s <(cat reports/report.md && printf '\n<!-- retrygate -->\n') reports/comment.md ||
  fail "a short comment is not the whole report and its mark"
run 1 RETRYGATE="$retrygate" GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$scratch/summary" "$script" jitter-removed reports
grep -q '^::error ' out || fail "no annotation on GitHub"
grep -q '^## retrygate: fail' summary || fail "no job summary"
run 2 RETRYGATE="$retrygate" "$script"
run 2 RETRYGATE="$retrygate" "$script" jitter-removed --threads 1
[[ ! -e ./--threads ]] || fail "an option was taken for the folder of the reports"
# What an earlier run left is gone; what is wrong with the settings stands in the reports of this one.
touch reports/notes-of-mine
run 2 RETRYGATE="$retrygate" GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$scratch/wrong" "$script" no-such-suite.toml reports
[[ -e reports/notes-of-mine && ! -e reports/samples.json ]] || fail "stale reports are left: $(ls reports)"
grep -q '^::error title=retrygate%3A wrong settings::no-such-suite.toml: there is no such suite file' out ||
  fail "no annotation: $(cat out)"
for file in wrong reports/comment.md; do
  [[ $(head -1 $file) == "## retrygate: usage error" ]] || fail "$file begins with $(head -1 $file)"
  grep -q no-such-suite.toml $file || fail "$file does not say what is wrong"
done
# A program that writes no report leaves none to publish.
touch reports/report.md
run 2 RETRYGATE="$retrygate" GITHUB_STEP_SUMMARY="$scratch/none" "$script" jitter-removed reports --no-such-option
[[ $(ls reports) == notes-of-mine && ! -e none ]] || fail "a stale report is published: $(ls reports)"
run 3 RETRYGATE="$retrygate" BASELINE=missing.json "$script" jitter-removed

# One in its place, that shows its arguments and writes a long report.
cat >fake <<'FAKE'
#!/usr/bin/env bash
printf '%s ' "$@"
mkdir -p reports
{ echo "## retrygate: fail"; for i in {1..4000}; do echo "- line $i of a long report"; done; } >reports/report.md
exit "${CODE:-0}"
FAKE
chmod +x fake
for code in 0 1 2 3 4; do run "$code" RETRYGATE=./fake CODE="$code" "$script" suite.toml reports; done
[[ $(cat out) == "gate suite.toml --out reports --format text " ]] || fail "the arguments are: $(cat out)"
[[ $(head -1 reports/comment.md) == "## retrygate: fail" ]] || fail "the comment does not begin with the verdict"
[[ $(wc -c <reports/comment.md) -lt 65536 ]] || fail "the comment has $(wc -c <reports/comment.md) bytes"
touch baseline.json
run 0 RETRYGATE=./fake "$script" suite.toml reports --threads 1
[[ $(cat out) == "gate suite.toml --out reports --threads 1 --baseline ./baseline.json --format text " ]] ||
  fail "with a stored baseline the arguments are: $(cat out)"
run 0 RETRYGATE=./fake BASELINE= "$script" suite.toml reports
[[ $(cat out) == "gate suite.toml --out reports --format text " ]] || fail "an empty BASELINE is not none: $(cat out)"

# The comment's step, with a gh that says which of the comments has the mark.
step=$(sed -n '/^  comment:/,$ s/^          //p' "${script%/*}/github.yml" | sed -n '/^id=/,$ p')
[[ $step == id=* ]] || fail "the comment's step was not found: $step"
mkdir bin
cat >bin/gh <<'FAKE'
#!/usr/bin/env bash
echo "$*" >>calls
[[ $* != *--paginate* ]] || printf '%s' "${MARKED:-}"
FAKE
chmod +x bin/gh
comment() {
  rm -f calls
  PATH=$PWD/bin:$PATH GH_REPO=we/it NUMBER=7 MARKED=$1 bash -e -c "$step" || fail "the comment's step fails"
  tail -n 1 calls
}
[[ $(comment "") == "pr comment 7 --body-file retrygate-report/comment.md" ]] || fail "no new comment: $(cat calls)"
[[ $(comment $'41\n43\n') == "api --method PATCH repos/we/it/issues/comments/41 --field body=@retrygate-report/comment.md" ]] ||
  fail "the comment is not written anew: $(cat calls)"
exit "$failed"
