# What agents run, with an event on standard input: sh hook.sh assay-hook --agent NAME --store DIR WAY PYTHON ENTRY ANSWER
# The event is put aside, and taken in by a process that the agent does not wait for. WAY: start, request, before (a command), end,
# note (only put aside), now (taken in at once: what a file held before an edit is gone after it). Whatever goes wrong, it ends with 0.
agent=$3 store=$5 way=$6 python=$7 entry=$8 answer=$9
umask 077

take_in() { "$python" -I -S "$entry" assay-hook --agent "$agent" --store "$store" "$@"; }
now() { take_in --pid "$pid" 2>/dev/null; exit 0; }
has() { set -- "$store"/$1; [ -e "$1" ]; }

{ read -r _ _ _ pid _ </proc/$PPID/stat; } 2>/dev/null # of the agent: its shell runs this
[ -x "$python" ] && [ -r "$entry" ] || way=gone
case $way in
gone) printf %s "$answer"; exit 0 ;;
now) now ;;
start) has 'moments/*.due.json' || has 'moments/*.offer.json' || { printf %s "$answer"; exit 0; }; now ;;
request|end) ! has 'moments/*.due.json' || now ;;
esac
file=$store/spool/$$.$agent.$pid.$way
[ -d "$store/spool" ] && [ ! -e "$file" ] || now
{ cat > "$file"; } 2>/dev/null || now
case $way in
request|end) (exec </dev/null >/dev/null 2>&1; take_in --spool yes) & ;;
before|note) ! grep -q apply_patch "$file" || take_in --spool yes </dev/null >/dev/null 2>&1 ;;
esac
tries=0
while [ "$way" = before ] && has 'spool/*.request' && [ $tries -lt 250 ]; do # nothing may change before the start is seen
  sleep 0.02
  tries=$((tries + 1))
done
if [ $tries -ge 250 ]; then # once is enough
  for late in "$store"/spool/*.request; do mv "$late" "$late.late"; done
fi 2>/dev/null
printf %s "$answer"
exit 0
