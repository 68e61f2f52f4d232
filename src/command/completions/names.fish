
# The names of breakers and profiles, which only brk itself knows.
function __brk_list
    set -l cmd (commandline -opc)
    set -l state
    for index in (seq 2 (count $cmd))
        switch $cmd[$index]
            case --state-dir
                test $index -lt (count $cmd); and set state --state-dir (string replace -r '^~/' "$HOME/" -- $cmd[(math $index + 1)])
            case '--state-dir=*'
                set state --state-dir (string replace -r '^--state-dir=' '' -- $cmd[$index] | string replace -r '^~/' "$HOME/")
        end
    end
    $cmd[1] $state $argv 2>/dev/null
end

function __brk_has_operand
    set -l operands 0
    set -l is_value 0
    for word in (commandline -opc)
        if test $is_value -eq 1
            set is_value 0
        else if contains -- $word @VALUE_FLAGS@
            set is_value 1
        else if not string match -q -- '-*' $word
            set operands (math $operands + 1)
        end
    end
    test $operands -gt 2
end

complete -c brk -n "__fish_brk_using_subcommand check explain history metrics status reset trip release forget config" -f -a "(__brk_list status --names)"
complete -c brk -n "__fish_brk_using_subcommand hold; and not __brk_has_operand" -f -a "(__brk_list status --names)"
complete -c brk -n "__fish_brk_using_subcommand hold; and __brk_has_operand" -f -a "open closed"
complete -c brk -n "__fish_brk_using_subcommand profiles" -f -a "(__brk_list profiles --names)"
complete -c brk -n "__fish_brk_using_subcommand completions" -f -a "bash elvish fish powershell zsh"
