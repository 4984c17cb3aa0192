# Tells assay what is typed here, and never in the way of it. Taken out by: assay hook uninstall --agent shell
status is-interactive; or return 0
set -q _assay_spool; and return 0
set -g _assay_python @PYTHON@
set -g _assay_entry @ENTRY@
set -g _assay_store @STORE@
set -g _assay_only @PROJECT@
test -x "$_assay_python" -a -r "$_assay_entry"; or return 0
set -g _assay_spool $_assay_store/shell/$fish_pid.spool
set -g _assay_task ''
set -g _assay_last 0

function _assay_call
    $_assay_python -I -S $_assay_entry assay-hook --agent shell --store $_assay_store --spool $_assay_spool $argv
end

function _assay_find
    set -g _assay_root ''
    set -g _assay_cwd $PWD
    if test -n "$_assay_only"
        set -l wanted $_assay_only/
        test (string sub -l (string length -- $wanted) -- $PWD/) = $wanted
        and set -g _assay_root $_assay_only
        return 0
    end
    set -l at $PWD
    while test -n "$at" -a "$at" != "$HOME"
        if test -e "$at/.git"
            set -g _assay_root $at
            return 0
        end
        set at (string replace -r '/[^/]*$' '' -- $at)
    end
end

function _assay_before --on-event fish_preexec
    _assay_find
    test -n "$_assay_root"; or return 0
    set -l now (date +%s)
    if test "$_assay_root" != "$_assay_task" -o (math $now - $_assay_last) -gt @IDLE@
        _assay_call --event begin --root $_assay_root --cwd $_assay_cwd </dev/null >/dev/null 2>&1
    end
    test -f $_assay_spool; or return 0
    if string match -q -- ' *' $argv[1]
        printf 'U\0%s\0%s\0\0' $now $_assay_cwd >>$_assay_spool
    else
        printf 'B\0%s\0%s\0%s\0' $now $_assay_cwd "$argv[1]" >>$_assay_spool
    end
end

function _assay_after --on-event fish_postexec
    set -l code $status
    set -g _assay_task $_assay_root
    set -g _assay_last (date +%s)
    if test -n "$_assay_root" -a -f $_assay_spool
        printf 'E\0%s\0%s\0\0' $_assay_last $code >>$_assay_spool
        _assay_call --event settle </dev/null >/dev/null 2>&1 &
        disown 2>/dev/null
    end
end

set -l _assay_found $_assay_store/moments/*.due.json $_assay_store/moments/*.offer.json
test (count $_assay_found) -gt 0; and _assay_call --event say </dev/null 2>/dev/null
return 0
