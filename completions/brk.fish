# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_brk_global_optspecs
    string join \n state-dir= config= store= store-password-file= color= h/help V/version
end

function __fish_brk_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_brk_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_brk_using_subcommand
    set -l cmd (__fish_brk_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c brk -n "__fish_brk_needs_command" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_needs_command" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_needs_command" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_needs_command" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_needs_command" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c brk -n "__fish_brk_needs_command" -s V -l version -d 'Print version'
complete -c brk -n "__fish_brk_needs_command" -f -a "run" -d 'Run a command if its breaker admits it'
complete -c brk -n "__fish_brk_needs_command" -f -a "check" -d 'Say whether a run would be admitted now: exit 0 yes, 75 no'
complete -c brk -n "__fish_brk_needs_command" -f -a "status" -d 'Show all breakers, or some in detail'
complete -c brk -n "__fish_brk_needs_command" -f -a "history" -d 'Show what happened to a breaker, newest last'
complete -c brk -n "__fish_brk_needs_command" -f -a "explain" -d 'Say in sentences what would happen to a run now, and why'
complete -c brk -n "__fish_brk_needs_command" -f -a "metrics" -d 'Print metrics in the OpenMetrics text format'
complete -c brk -n "__fish_brk_needs_command" -f -a "reset" -d 'Close breakers and clear their counters; the history stays'
complete -c brk -n "__fish_brk_needs_command" -f -a "trip" -d 'Open a breaker now'
complete -c brk -n "__fish_brk_needs_command" -f -a "hold" -d 'Refuse every run, or admit every run, until released'
complete -c brk -n "__fish_brk_needs_command" -f -a "release" -d 'End an override'
complete -c brk -n "__fish_brk_needs_command" -f -a "forget" -d 'Remove breakers and their history'
complete -c brk -n "__fish_brk_needs_command" -f -a "config" -d 'Show the settings that a run would have, and where each comes from'
complete -c brk -n "__fish_brk_needs_command" -f -a "profiles" -d 'Show the built-in exit-code profiles'
complete -c brk -n "__fish_brk_needs_command" -f -a "completions" -d 'Print a completion script'
complete -c brk -n "__fish_brk_needs_command" -f -a "man" -d 'Write the manual pages into a directory'
complete -c brk -n "__fish_brk_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c brk -n "__fish_brk_using_subcommand run" -l name -d 'The name of what the command depends on; runs with the same name share a breaker' -x -a "(__brk_list status --names)"
complete -c brk -n "__fish_brk_using_subcommand run" -l failures -d 'Open after N failures in a row; 0 disables it [default: 3; disabled if a rate is set]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l failure-rate -d 'Open when this share of the window failed: 50% or 0.5' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l slow-rate -d 'Open when this share of the window was slow; needs --slow-after' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l slow-after -d 'A run that takes longer than this is slow' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l window -d 'What the rates look at: the last N runs (20) or the runs of the last DURATION (10m) [default: 20]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l min-calls -d 'Minimum runs in the window before the rates apply [default: 10, or the window if that is smaller]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l trip-on -d 'Outcomes that open the breaker immediately' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l cooldown -d 'How long it stays open at first: a duration, a number of refused runs (3runs), or both [default: 1m,1run]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l backoff -d 'Growth factor of the cooldown each time a probe fails [default: 2]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l max-cooldown -d 'The longest cooldown [default: 1h]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l jitter -d 'Lengthen each cooldown by up to this share, so that many do not come back at once [default: 10%]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l run-at-least-every -d 'Allow a probe if nothing was launched for this long, even while open' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l probes -d 'How many probes may be alive at once [default: 1]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l probe-successes -d 'How many probes must succeed to close [default: 1]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l probe-failures -d 'How many failed probes open it again [default: 1]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l probe -l probe-command -d 'Shell command to probe with instead of the real command' -r -f -a "(__fish_complete_command)"
complete -c brk -n "__fish_brk_using_subcommand run" -l probe-timeout -d 'How long that health check may take; 0 is no limit [default: 30s]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l profile -d 'The exit codes of a known program (\'brk profiles\' lists them) [default: base]' -x -a "(__brk_list profiles --names)"
complete -c brk -n "__fish_brk_using_subcommand run" -l success-on -d 'Outcomes that are successes: codes, ranges, signals, timeout, not-started (0,100-110,SIGPIPE)' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l fail-on -d 'Outcomes that are failures' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l ignore-on -d 'Outcomes that say nothing about what the command depends on' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l tell -d 'Let the command say what its run means, and when to come back, in the file BRK_TELL' -r -f -a "true\t''
false\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l max-retry-after -d 'The longest wait that a command may ask for with --tell [default: 24h]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -s t -l timeout -d 'Stop the command and its descendants after this long; 0 is no limit [default: 0s]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -s s -l signal -d 'Signal sent on timeout [default: TERM]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -s k -l kill-after -d 'Delay from that signal to SIGKILL; if set, also applies when brk is signalled [default: 5s]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l preserve-status -d 'After a timeout, exit as the command did and not with 124' -r -f -a "true\t''
false\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l kill-leftovers -d 'Stop what the command leaves running in the background' -r -f -a "true\t''
false\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -s q -l quiet -d 'Say nothing on standard error when a run is refused' -r -f -a "true\t''
false\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l refused-exit -d 'The exit code of a refusal [default: 75]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l observe -d 'Try a policy out: count what would be refused, and run it all the same' -r -f -a "true\t''
false\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l on-state-error -d 'What to do if the state cannot be used: run unguarded, or refuse with 125 [default: run]' -r -f -a "run\t''
refuse\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l on-store-error -d 'If a shared store cannot be used: continue with this host\'s own state (local), run unguarded, or refuse with 125 [default: local]' -r -f -a "local\t''
run\t''
refuse\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l report -d 'Write what became of the run to FILE, as one JSON object' -r -F
complete -c brk -n "__fish_brk_using_subcommand run" -l retries -d 'Try again up to N times after a failure, until the breaker opens; BRK_ATTEMPT counts from 1 [default: 0]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l retry-delay -d 'Upper bound of the random delay before the first retry [default: 1s]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l retry-backoff -d 'Growth factor of that delay with each attempt [default: 2]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l retry-max-delay -d 'Maximum retry delay [default: 1m]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l retry-jitter -d 'How much of each delay is random; 0 makes delays exact [default: 100%]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l wait -d 'Wait until admitted instead of being refused, for MAX at the most (--wait=10m, with the =)' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l max-concurrent -d 'At most N runs of this name with this flag at once; a further one is refused as busy' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l fallback -d 'What to run with \'sh -c\' instead when the run is refused; its exit code is brk\'s' -r -f -a "(__fish_complete_command)"
complete -c brk -n "__fish_brk_using_subcommand run" -l fallback-on -d 'When to run the fallback: refused, failure (a timeout too), timeout [default: refused]' -r -f -a "refused\t''
failure\t''
timeout\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l output -d 'What is shown of the command\'s output: stream, on-failure, or on-change (for cron) [default: stream]' -r -f -a "stream\t''
on-failure\t''
on-change\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l remind-every -d 'With --output on-change: show something again after this long without a success; 0 is never [default: 1d]' -r
complete -c brk -n "__fish_brk_using_subcommand run" -l success-exit -d 'Exit with 0 if the outcome is a success, whatever the command\'s exit code is' -r -f -a "true\t''
false\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -l on-open -d 'Run CMD with \'sh -c\' when the breaker opens, but not when a failed probe opens it again' -r -f -a "(__fish_complete_command)"
complete -c brk -n "__fish_brk_using_subcommand run" -l on-close -d 'Run CMD when the breaker closes, as --on-open' -r -f -a "(__fish_complete_command)"
complete -c brk -n "__fish_brk_using_subcommand run" -l on-change -d 'Run CMD at every change of phase, as --on-open' -r -f -a "(__fish_complete_command)"
complete -c brk -n "__fish_brk_using_subcommand run" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand run" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand run" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand run" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand run" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c brk -n "__fish_brk_using_subcommand check" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand check" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand check" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand check" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand check" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand check" -s q -l quiet -d 'Print nothing'
complete -c brk -n "__fish_brk_using_subcommand check" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c brk -n "__fish_brk_using_subcommand status" -l watch -d 'Refresh until q or Ctrl-C [default: every 2s]' -r
complete -c brk -n "__fish_brk_using_subcommand status" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand status" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand status" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand status" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand status" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand status" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand status" -l names -d 'Print only the names, one a line'
complete -c brk -n "__fish_brk_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c brk -n "__fish_brk_using_subcommand history" -s n -l lines -d 'Only the last N events [default: all; with --follow, 10]' -r
complete -c brk -n "__fish_brk_using_subcommand history" -l since -d 'Only events that are not older than this' -r
complete -c brk -n "__fish_brk_using_subcommand history" -l svg -d 'Write phases and outcomes over time into FILE, as a picture' -r -F
complete -c brk -n "__fish_brk_using_subcommand history" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand history" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand history" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand history" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand history" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand history" -l json -d 'Print JSON Lines'
complete -c brk -n "__fish_brk_using_subcommand history" -s f -l follow -d 'Keep printing new events, until Ctrl-C'
complete -c brk -n "__fish_brk_using_subcommand history" -l timeline -d 'Draw phases and outcomes over time instead of listing events'
complete -c brk -n "__fish_brk_using_subcommand history" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand explain" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand explain" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand explain" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand explain" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand explain" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand explain" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand explain" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand metrics" -s o -l output -d 'Replace FILE atomically, with the mode that the umask gives, instead of printing' -r -F
complete -c brk -n "__fish_brk_using_subcommand metrics" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand metrics" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand metrics" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand metrics" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand metrics" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand metrics" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand reset" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand reset" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand reset" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand reset" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand reset" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand reset" -l all -d 'All breakers'
complete -c brk -n "__fish_brk_using_subcommand reset" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand reset" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand trip" -l for -d 'For how long [default: the cooldown of its last run]' -r
complete -c brk -n "__fish_brk_using_subcommand trip" -l reason -d 'Reason to record' -r
complete -c brk -n "__fish_brk_using_subcommand trip" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand trip" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand trip" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand trip" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand trip" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand trip" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand trip" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand hold" -l for -d 'End the override by itself after this long' -r
complete -c brk -n "__fish_brk_using_subcommand hold" -l reason -d 'Reason to record' -r
complete -c brk -n "__fish_brk_using_subcommand hold" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand hold" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand hold" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand hold" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand hold" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand hold" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand hold" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand release" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand release" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand release" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand release" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand release" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand release" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand release" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand forget" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand forget" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand forget" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand forget" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand forget" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand forget" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand forget" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand config" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand config" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand config" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand config" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand config" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand config" -l check -d 'Only check all files and all sections; exit 2 if something is wrong'
complete -c brk -n "__fish_brk_using_subcommand config" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand profiles" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand profiles" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand profiles" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand profiles" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand profiles" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand profiles" -l json -d 'Print JSON'
complete -c brk -n "__fish_brk_using_subcommand profiles" -l names -d 'Print only the names, one a line'
complete -c brk -n "__fish_brk_using_subcommand profiles" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand completions" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand completions" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand completions" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand completions" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand completions" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand completions" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand man" -l state-dir -d 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]' -r -f -a "(__fish_complete_directories)"
complete -c brk -n "__fish_brk_using_subcommand man" -l config -d 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]' -r -F
complete -c brk -n "__fish_brk_using_subcommand man" -l store -d 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; \'\' for this host\'s own files [default: BRK_STORE]' -r -f
complete -c brk -n "__fish_brk_using_subcommand man" -l store-password-file -d 'The file that holds the password of that store' -r -F
complete -c brk -n "__fish_brk_using_subcommand man" -l color -d 'When to use colour; auto asks whether it is a terminal, and NO_COLOR' -r -f -a "auto\t''
always\t''
never\t''"
complete -c brk -n "__fish_brk_using_subcommand man" -s h -l help -d 'Print help'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "run" -d 'Run a command if its breaker admits it'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "check" -d 'Say whether a run would be admitted now: exit 0 yes, 75 no'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "status" -d 'Show all breakers, or some in detail'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "history" -d 'Show what happened to a breaker, newest last'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "explain" -d 'Say in sentences what would happen to a run now, and why'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "metrics" -d 'Print metrics in the OpenMetrics text format'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "reset" -d 'Close breakers and clear their counters; the history stays'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "trip" -d 'Open a breaker now'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "hold" -d 'Refuse every run, or admit every run, until released'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "release" -d 'End an override'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "forget" -d 'Remove breakers and their history'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "config" -d 'Show the settings that a run would have, and where each comes from'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "profiles" -d 'Show the built-in exit-code profiles'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "completions" -d 'Print a completion script'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "man" -d 'Write the manual pages into a directory'
complete -c brk -n "__fish_brk_using_subcommand help; and not __fish_seen_subcommand_from run check status history explain metrics reset trip hold release forget config profiles completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'

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
        else if contains -- $word --backoff --color --config --cooldown --fail-on --failure-rate --failures --fallback --fallback-on --for --ignore-on --jitter --kill-after --lines --max-concurrent --max-cooldown --max-retry-after --min-calls --name --on-change --on-close --on-open --on-state-error --on-store-error --output --probe --probe-command --probe-failures --probe-successes --probe-timeout --probes --profile --reason --refused-exit --remind-every --report --retries --retry-backoff --retry-delay --retry-jitter --retry-max-delay --run-at-least-every --signal --since --slow-after --slow-rate --state-dir --store --store-password-file --success-on --svg --timeout --trip-on --window -k -n -o -s -t
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
