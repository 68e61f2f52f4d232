# The names of breakers and profiles, which only brk itself knows.

(( $+functions[_brk_list] )) ||
_brk_list() {
    local -a typed=(${(z)LBUFFER}) state=() found
    local program=brk index=${typed[(I)--state-dir]} joined=${typed[(R)--state-dir=*]}
    [[ ${${(Q)typed[1]}:t} == brk ]] && program=${(Q)typed[1]}
    (( index )) && state=(--state-dir ${(Q)typed[index + 1]/#\~\//$HOME/})
    [[ -n $joined ]] && state=(--state-dir ${(Q)${joined#--state-dir=}/#\~\//$HOME/})
    found=(${(f)"$($program $state $@ 2>/dev/null)"})
    compadd -a found
}

(( $+functions[_brk_names] )) ||
_brk_names() { _brk_list status --names }

(( $+functions[_brk_profiles] )) ||
_brk_profiles() { _brk_list profiles --names }

