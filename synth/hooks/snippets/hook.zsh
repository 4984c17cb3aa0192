# Tells assay what is typed here, and never in the way of it. Taken out by: assay hook uninstall --agent shell
[[ -o interactive && -z ${_assay_spool-} ]] || return 0
typeset -g _assay_python=@PYTHON@ _assay_entry=@ENTRY@ _assay_store=@STORE@ _assay_only=@PROJECT@
[[ -x $_assay_python && -r $_assay_entry ]] || return 0
zmodload zsh/datetime 2>/dev/null && autoload -Uz add-zsh-hook || return 0
typeset -g _assay_spool=$_assay_store/shell/$$.spool _assay_task='' _assay_ran='' _assay_root='' _assay_cwd=''
typeset -gi _assay_last=0

_assay_call() {
  "$_assay_python" -I -S "$_assay_entry" assay-hook --agent shell --store "$_assay_store" --spool "$_assay_spool" "$@"
}

_assay_find() {
  emulate -L zsh
  local at=$PWD
  _assay_root='' _assay_cwd=$PWD
  if [[ -n $_assay_only ]]; then
    [[ $PWD/ == $_assay_only/* ]] && _assay_root=$_assay_only
    return 0
  fi
  while [[ -n $at && $at != $HOME ]]; do
    if [[ -e $at/.git ]]; then _assay_root=$at; return 0; fi
    at=${at%/*}
  done
}

_assay_preexec() {
  local line=${1:-$3} unseen=''
  [[ -o hist_ignore_space && $line == ' '* ]] && unseen=1
  emulate -L zsh
  _assay_find
  _assay_ran=1
  [[ -n $_assay_root ]] || return 0
  {
    if [[ $_assay_root != $_assay_task ]] || (( EPOCHSECONDS - _assay_last > @IDLE@ )); then
      _assay_call --event begin --root "$_assay_root" --cwd "$_assay_cwd"
    fi
    [[ -f $_assay_spool ]] || return 0
    if [[ -z $unseen ]]; then
      printf 'B\0%s\0%s\0%s\0' $EPOCHSECONDS $_assay_cwd $line >>$_assay_spool
    else
      printf 'U\0%s\0%s\0\0' $EPOCHSECONDS $_assay_cwd >>$_assay_spool
    fi
  } </dev/null &>/dev/null
}

_assay_precmd() {
  local code=$?
  emulate -L zsh
  [[ -n $_assay_ran ]] || return $code
  _assay_ran='' _assay_task=$_assay_root _assay_last=$EPOCHSECONDS
  {
    if [[ -n $_assay_root && -f $_assay_spool ]]; then
      printf 'E\0%s\0%s\0\0' $EPOCHSECONDS $code >>$_assay_spool
      _assay_call --event settle &!
    fi
  } </dev/null &>/dev/null
  return $code
}

add-zsh-hook preexec _assay_preexec
add-zsh-hook precmd _assay_precmd
() {
  emulate -L zsh
  local -a found=($_assay_store/moments/*.(due|offer).json(N))
  (( $#found == 0 )) || _assay_call --event say 2>/dev/null </dev/null
}
return 0
