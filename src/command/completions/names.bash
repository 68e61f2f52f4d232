
# The names of breakers and profiles, which only brk itself knows.

_brk_list() {
    local word
    while IFS= read -r word; do
        [[ $word == "$cur"* ]] || continue
        printf -v word %q "$word"
        COMPREPLY+=("$word")
    done
    [[ $cur != *:* ]] || ! declare -F __ltrim_colon_completions >/dev/null || __ltrim_colon_completions "$cur"
    # No name fits: a file would not either.
    [[ ${BASH_VERSINFO[0]} -lt 4 ]] || compopt +o default +o bashdefault
}

_brk_with_names() {
    local cur=$2 prev=$3 verb= operands=0 i word
    local -a state=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        @GLOBAL_VALUE_FLAGS@)
            [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))
            ((++i < COMP_CWORD)) || break
            [[ $word != --state-dir ]] || state=(--state-dir "${COMP_WORDS[i]/#~\//$HOME/}")
            ;;
        --)
            if [[ $verb == run ]] && declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
                return
            fi
            ;;
        -* | =) ;;
        *)
            if [[ -z $verb ]]; then verb=$word; else ((++operands)); fi
            ;;
        esac
    done
    # --name=x comes as three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    case $verb,$prev in
    run,--name)
        _brk_list < <("$1" "${state[@]}" status --names 2>/dev/null)
        return
        ;;
    run,--profile)
        _brk_list < <("$1" profiles --names 2>/dev/null)
        return
        ;;
    @VALUE_FLAGS@) ;;
    profiles,*)
        if [[ $cur != -* ]]; then
            _brk_list < <("$1" profiles --names 2>/dev/null)
            return
        fi
        ;;
    hold,*)
        if [[ $cur != -* && $operands -gt 0 ]]; then
            COMPREPLY=($(compgen -W 'open closed' -- "$cur"))
            return
        fi
        ;;&
    check,* | explain,* | history,* | metrics,* | status,* | reset,* | trip,* | hold,* | release,* | forget,* | config,*)
        if [[ $cur != -* ]]; then
            _brk_list < <("$1" "${state[@]}" status --names 2>/dev/null)
            return
        fi
        ;;
    esac
    _brk "$@"
}

if [[ ${BASH_VERSINFO[0]} -gt 4 || ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 ]]; then
    complete -F _brk_with_names -o nosort -o bashdefault -o default brk
else
    complete -F _brk_with_names -o bashdefault -o default brk
fi
