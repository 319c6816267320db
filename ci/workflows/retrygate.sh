#!/usr/bin/env bash
# The gate as a step of any CI server: runs it, keeps its reports, and exits with its code (0 pass, 1 fail, 2 usage,
# 3 inconclusive, 4 internal). On GitHub it also prints annotations and the job summary.
# Usage: retrygate.sh SUITE.toml [OUT_FOLDER] [further arguments of `retrygate gate`]
#   RETRYGATE   the program; `retrygate` by default
#   BASELINE    the stored samples, where the file exists; baseline.json beside the suite by default,
#               none when it is set and empty
set -uo pipefail

if [[ $# -lt 1 || $1 == -* || ${2:-} == -* ]]; then
  sed -n '4,7s/^# //p' "$0" >&2
  exit 2
fi
suite=$1
out=${2:-retrygate-report}
shift $(($# > 1 ? 2 : 1))
baseline=${BASELINE-$(dirname "$suite")/baseline.json}

arguments=("$suite" --out "$out" "$@")
# A suite that names its own baselines needs no file; one that was asked for and is missing exits with 3.
if [[ -n ${BASELINE:-} || -e $baseline ]]; then arguments+=(--baseline "$baseline"); fi

# What an earlier run left is not this one's: nothing may publish it when the gate writes no report.
for report in report.{txt,md,json,html,sarif} junit.xml samples.json comment.md; do rm -f "$out/$report"; done

format=text
[[ ${GITHUB_ACTIONS:-} == true ]] && format=github
status=0
"${RETRYGATE:-retrygate}" gate "${arguments[@]}" --format "$format" || status=$?

if [[ -n ${GITHUB_STEP_SUMMARY:-} && -s $out/report.md ]]; then
  # GitHub takes at most 1 MiB of a step, and nothing of what is longer.
  head -c 1000000 "$out/report.md" >>"$GITHUB_STEP_SUMMARY"
fi
if [[ -s $out/report.md ]]; then
  # The text for a comment on the change: GitHub refuses one of 65,536 characters. The verdict comes first, so what
  # is cut at a line's end is the detail.
  if [[ $(wc -c <"$out/report.md") -le 60000 ]]; then
    cp "$out/report.md" "$out/comment.md"
  else
    {
      head -c 60000 "$out/report.md" | sed '$d'
      # The cut may lie inside of a folded section.
      printf '\n</details>\n\nCut at 60,000 bytes: the whole report is among the artifacts.\n'
    } >"$out/comment.md"
  fi
  # By this mark the next run finds its comment.
  printf '\n<!-- retrygate -->\n' >>"$out/comment.md"
fi
exit "$status"
