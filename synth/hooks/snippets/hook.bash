# Tells assay what is typed here, and never in the way of it. Taken out by: assay hook uninstall --agent shell
case $- in *i*) ;; *) return 0 ;; esac
[ -z "${_assay_spool-}" ] || return 0
(( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404 )) || return 0
_assay_python=@PYTHON@ _assay_entry=@ENTRY@ _assay_store=@STORE@ _assay_only=@PROJECT@
[ -x "$_assay_python" ] && [ -r "$_assay_entry" ] || return 0
_assay_spool=$_assay_store/shell/$$.spool
_assay_root='' _assay_task='' _assay_ran='' _assay_last=0 _assay_number='\!' _assay_kept='' _assay_cwd=''

_assay_call() {
  "$_assay_python" -I -S "$_assay_entry" assay-hook --agent shell --store "$_assay_store" --spool "$_assay_spool" "$@"
}

_assay_find() {
  local at=$PWD
  _assay_root='' _assay_cwd=$PWD
  if [ -n "$_assay_only" ]; then
    case $PWD/ in "$_assay_only"/*) _assay_root=$_assay_only ;; esac
    return 0
  fi
  while [ -n "$at" ] && [ "$at" != "$HOME" ]; do
    if [ -e "$at/.git" ]; then _assay_root=$at; return 0; fi
    at=${at%/*}
  done
}

# In a subshell that the shell starts between reading a line and running it.
_assay_before() {
  local now line
  [ -n "$_assay_root" ] || return 0
  printf -v now '%(%s)T' -1
  if [ "$_assay_root" != "$_assay_task" ] || (( now - _assay_last > @IDLE@ )); then
    _assay_call --event begin --root "$_assay_root" --cwd "$_assay_cwd" </dev/null
  fi
  [ -f "$_assay_spool" ] || return 0
  line=$(HISTTIMEFORMAT='' builtin history 1)
  if [[ $line =~ ^[[:space:]]*([0-9]+)[*]?[[:space:]](.*)$ ]] &&
    { (( BASH_REMATCH[1] > _assay_kept )) || [ "${HISTCONTROL-}" = ignoredups ]; }; then
    line=${BASH_REMATCH[2]}
    printf 'B\0%s\0%s\0%s\0' "$now" "$_assay_cwd" "${line# }" >>"$_assay_spool"
  else
    printf 'U\0%s\0%s\0\0' "$now" "$_assay_cwd" >>"$_assay_spool"
  fi
}

_assay_after() {
  local code=$? now
  if [ -n "$_assay_ran" ]; then
    printf -v now '%(%s)T' -1
    _assay_ran='' _assay_task=$_assay_root _assay_last=$now
    if [ -n "$_assay_root" ] && [ -f "$_assay_spool" ]; then
      printf 'E\0%s\0%s\0\0' "$now" "$code" >>"$_assay_spool"
      (_assay_call --event settle </dev/null &)
    fi
  fi 2>/dev/null >&2
  _assay_find
  # The number of the newest line in the history; the prompt says 1 where there is none, too.
  if [ -n "$_assay_kept" ] || [ -n "$(builtin history 1)" ]; then _assay_kept=${_assay_number@P}; else _assay_kept=0; fi
  return $code
}

PS0=${PS0-}'${_assay_none[_assay_ran=1]:-}$(_assay_before 2>/dev/null >&2)'
if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
  PROMPT_COMMAND=(_assay_after "${PROMPT_COMMAND[@]}")
else
  PROMPT_COMMAND=_assay_after${PROMPT_COMMAND:+; $PROMPT_COMMAND}
fi
for _assay_none in "$_assay_store"/moments/*.due.json "$_assay_store"/moments/*.offer.json; do
  if [ -e "$_assay_none" ]; then _assay_call --event say 2>/dev/null </dev/null; break; fi
done
unset _assay_none
return 0
