
use builtin;
use str;

set edit:completion:arg-completer[brk] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'brk'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'brk'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand run 'Run a command if its breaker admits it'
            cand check 'Say whether a run would be admitted now: exit 0 yes, 75 no'
            cand status 'Show all breakers, or some in detail'
            cand history 'Show what happened to a breaker, newest last'
            cand explain 'Say in sentences what would happen to a run now, and why'
            cand metrics 'Print metrics in the OpenMetrics text format'
            cand reset 'Close breakers and clear their counters; the history stays'
            cand trip 'Open a breaker now'
            cand hold 'Refuse every run, or admit every run, until released'
            cand release 'End an override'
            cand forget 'Remove breakers and their history'
            cand config 'Show the settings that a run would have, and where each comes from'
            cand profiles 'Show the built-in exit-code profiles'
            cand completions 'Print a completion script'
            cand man 'Write the manual pages into a directory'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'brk;run'= {
            cand --name 'The name of what the command depends on; runs with the same name share a breaker'
            cand --failures 'Open after N failures in a row; 0 disables it [default: 3; disabled if a rate is set]'
            cand --failure-rate 'Open when this share of the window failed: 50% or 0.5'
            cand --slow-rate 'Open when this share of the window was slow; needs --slow-after'
            cand --slow-after 'A run that takes longer than this is slow'
            cand --window 'What the rates look at: the last N runs (20) or the runs of the last DURATION (10m) [default: 20]'
            cand --min-calls 'Minimum runs in the window before the rates apply [default: 10, or the window if that is smaller]'
            cand --trip-on 'Outcomes that open the breaker immediately'
            cand --cooldown 'How long it stays open at first: a duration, a number of refused runs (3runs), or both [default: 1m,1run]'
            cand --backoff 'Growth factor of the cooldown each time a probe fails [default: 2]'
            cand --max-cooldown 'The longest cooldown [default: 1h]'
            cand --jitter 'Lengthen each cooldown by up to this share, so that many do not come back at once [default: 10%]'
            cand --run-at-least-every 'Allow a probe if nothing was launched for this long, even while open'
            cand --probes 'How many probes may be alive at once [default: 1]'
            cand --probe-successes 'How many probes must succeed to close [default: 1]'
            cand --probe-failures 'How many failed probes open it again [default: 1]'
            cand --probe 'Shell command to probe with instead of the real command'
            cand --probe-command 'Shell command to probe with instead of the real command'
            cand --probe-timeout 'How long that health check may take; 0 is no limit [default: 30s]'
            cand --profile 'The exit codes of a known program (''brk profiles'' lists them) [default: base]'
            cand --success-on 'Outcomes that are successes: codes, ranges, signals, timeout, not-started (0,100-110,SIGPIPE)'
            cand --fail-on 'Outcomes that are failures'
            cand --ignore-on 'Outcomes that say nothing about what the command depends on'
            cand --tell 'Let the command say what its run means, and when to come back, in the file BRK_TELL'
            cand --max-retry-after 'The longest wait that a command may ask for with --tell [default: 24h]'
            cand -t 'Stop the command and its descendants after this long; 0 is no limit [default: 0s]'
            cand --timeout 'Stop the command and its descendants after this long; 0 is no limit [default: 0s]'
            cand -s 'Signal sent on timeout [default: TERM]'
            cand --signal 'Signal sent on timeout [default: TERM]'
            cand -k 'Delay from that signal to SIGKILL; if set, also applies when brk is signalled [default: 5s]'
            cand --kill-after 'Delay from that signal to SIGKILL; if set, also applies when brk is signalled [default: 5s]'
            cand --preserve-status 'After a timeout, exit as the command did and not with 124'
            cand --kill-leftovers 'Stop what the command leaves running in the background'
            cand -q 'Say nothing on standard error when a run is refused'
            cand --quiet 'Say nothing on standard error when a run is refused'
            cand --refused-exit 'The exit code of a refusal [default: 75]'
            cand --observe 'Try a policy out: count what would be refused, and run it all the same'
            cand --on-state-error 'What to do if the state cannot be used: run unguarded, or refuse with 125 [default: run]'
            cand --on-store-error 'If a shared store cannot be used: continue with this host''s own state (local), run unguarded, or refuse with 125 [default: local]'
            cand --report 'Write what became of the run to FILE, as one JSON object'
            cand --retries 'Try again up to N times after a failure, until the breaker opens; BRK_ATTEMPT counts from 1 [default: 0]'
            cand --retry-delay 'Upper bound of the random delay before the first retry [default: 1s]'
            cand --retry-backoff 'Growth factor of that delay with each attempt [default: 2]'
            cand --retry-max-delay 'Maximum retry delay [default: 1m]'
            cand --retry-jitter 'How much of each delay is random; 0 makes delays exact [default: 100%]'
            cand --wait 'Wait until admitted instead of being refused, for MAX at the most (--wait=10m, with the =)'
            cand --max-concurrent 'At most N runs of this name with this flag at once; a further one is refused as busy'
            cand --fallback 'What to run with ''sh -c'' instead when the run is refused; its exit code is brk''s'
            cand --fallback-on 'When to run the fallback: refused, failure (a timeout too), timeout [default: refused]'
            cand --output 'What is shown of the command''s output: stream, on-failure, or on-change (for cron) [default: stream]'
            cand --remind-every 'With --output on-change: show something again after this long without a success; 0 is never [default: 1d]'
            cand --success-exit 'Exit with 0 if the outcome is a success, whatever the command''s exit code is'
            cand --on-open 'Run CMD with ''sh -c'' when the breaker opens, but not when a failed probe opens it again'
            cand --on-close 'Run CMD when the breaker closes, as --on-open'
            cand --on-change 'Run CMD at every change of phase, as --on-open'
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'brk;check'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand -q 'Print nothing'
            cand --quiet 'Print nothing'
            cand --json 'Print JSON'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'brk;status'= {
            cand --watch 'Refresh until q or Ctrl-C [default: every 2s]'
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --json 'Print JSON'
            cand --names 'Print only the names, one a line'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'brk;history'= {
            cand -n 'Only the last N events [default: all; with --follow, 10]'
            cand --lines 'Only the last N events [default: all; with --follow, 10]'
            cand --since 'Only events that are not older than this'
            cand --svg 'Write phases and outcomes over time into FILE, as a picture'
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --json 'Print JSON Lines'
            cand -f 'Keep printing new events, until Ctrl-C'
            cand --follow 'Keep printing new events, until Ctrl-C'
            cand --timeline 'Draw phases and outcomes over time instead of listing events'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;explain'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --json 'Print JSON'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;metrics'= {
            cand -o 'Replace FILE atomically, with the mode that the umask gives, instead of printing'
            cand --output 'Replace FILE atomically, with the mode that the umask gives, instead of printing'
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;reset'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --all 'All breakers'
            cand --json 'Print JSON'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;trip'= {
            cand --for 'For how long [default: the cooldown of its last run]'
            cand --reason 'Reason to record'
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --json 'Print JSON'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;hold'= {
            cand --for 'End the override by itself after this long'
            cand --reason 'Reason to record'
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --json 'Print JSON'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;release'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --json 'Print JSON'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;forget'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --json 'Print JSON'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;config'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --check 'Only check all files and all sections; exit 2 if something is wrong'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;profiles'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand --json 'Print JSON'
            cand --names 'Print only the names, one a line'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;completions'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;man'= {
            cand --state-dir 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]'
            cand --config 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]'
            cand --store 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]'
            cand --store-password-file 'The file that holds the password of that store'
            cand --color 'When to use colour; auto asks whether it is a terminal, and NO_COLOR'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'brk;help'= {
            cand run 'Run a command if its breaker admits it'
            cand check 'Say whether a run would be admitted now: exit 0 yes, 75 no'
            cand status 'Show all breakers, or some in detail'
            cand history 'Show what happened to a breaker, newest last'
            cand explain 'Say in sentences what would happen to a run now, and why'
            cand metrics 'Print metrics in the OpenMetrics text format'
            cand reset 'Close breakers and clear their counters; the history stays'
            cand trip 'Open a breaker now'
            cand hold 'Refuse every run, or admit every run, until released'
            cand release 'End an override'
            cand forget 'Remove breakers and their history'
            cand config 'Show the settings that a run would have, and where each comes from'
            cand profiles 'Show the built-in exit-code profiles'
            cand completions 'Print a completion script'
            cand man 'Write the manual pages into a directory'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'brk;help;run'= {
        }
        &'brk;help;check'= {
        }
        &'brk;help;status'= {
        }
        &'brk;help;history'= {
        }
        &'brk;help;explain'= {
        }
        &'brk;help;metrics'= {
        }
        &'brk;help;reset'= {
        }
        &'brk;help;trip'= {
        }
        &'brk;help;hold'= {
        }
        &'brk;help;release'= {
        }
        &'brk;help;forget'= {
        }
        &'brk;help;config'= {
        }
        &'brk;help;profiles'= {
        }
        &'brk;help;completions'= {
        }
        &'brk;help;man'= {
        }
        &'brk;help;help'= {
        }
    ]
    $completions[$command]
}
