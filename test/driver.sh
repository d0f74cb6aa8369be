#!/bin/bash
# What make check runs each test by: it keeps the test's output in its log and prints one line: the result, the seconds of processor
# time of all processes of the test and, where it is skipped, its reason. A test NAME-left-out.skip is one that configure left
# out: it is skipped for the reason that the file holds. MACKO_TEST_RESULTS names a file to add "RESULT SECONDS NAME" to. A test that
# has not ended after MACKO_TEST_LIMIT seconds (20 minutes if it is not set) fails: ranks that wait for one another would wait for
# ever. Automake's manual describes the options, under Custom Test Drivers. Each test has a folder of its own for what Open MPI keeps
# while programs run: of two that start and end at the same time one would take away the folder that the other is about to use.
# Tests of Check that do not say how long they may take have two minutes, not its four seconds: on a busy machine, and under
# sanitizers, some that take one second take more than that.
while [ $# -gt 0 ]; do
  case $1 in
    --test-name) name=${2%-left-out.skip} ;;
    --log-file) log=$2 ;;
    --trs-file) trs=$2 ;;
    --color-tests | --enable-hard-errors | --expect-failure) ;;
    --) shift; break ;;
    *) echo "test/driver.sh: '$1' has no meaning" >&2; exit 2 ;;
  esac
  shift 2
done
sessions=$(mktemp -d) || exit 2
trap 'rm -rf "$sessions"' EXIT
trap 'rm -f "$log" "$trs"; exit 130' INT TERM HUP
export OMPI_MCA_orte_tmpdir_base=$sessions CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-120}
limit=${MACKO_TEST_LIMIT:-1200}
run() {
  case ${*: -1} in
    *.skip) echo "SKIP: $(cat "${*: -1}")"; return 77 ;;
    *) timeout --kill-after=20 "$limit" "$@" ;;
  esac
}
TIMEFORMAT='%U %S'
seconds=$( { time run "$@" >"$log" 2>&1; } 2>&1; echo "$?")
status=${seconds##*$'\n'} seconds=$(awk '{ printf "%.1f", $1 + $2; exit }' <<<"$seconds")
reason= copy=yes recheck=no
case $status in
  0) result=PASS copy=no ;;
  77) result=SKIP reason=$(sed -n 's/^SKIP[A-Z]*: //p' "$log" | tail -n 1) ;;
  99) result=ERROR recheck=yes ;;
  124 | 137) result=FAIL recheck=yes reason="no end within $limit seconds, see $log" ;;
  *) result=FAIL recheck=yes reason="exit status $status, see $log" ;;
esac
echo "$result $name (exit status: $status)" >>"$log"
printf ':%s\n' "test-result: $result" "global-test-result: $result" "copy-in-global-log: $copy" "recheck: $recheck" >"$trs"
[ -z "${MACKO_TEST_RESULTS:-}" ] || echo "$result $seconds $name" >>"$MACKO_TEST_RESULTS"
echo "$result: $name ($seconds s)${reason:+: $reason}"
