
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'brk' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'brk'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'brk' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Run a command if its breaker admits it')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Say whether a run would be admitted now: exit 0 yes, 75 no')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show all breakers, or some in detail')
            [CompletionResult]::new('history', 'history', [CompletionResultType]::ParameterValue, 'Show what happened to a breaker, newest last')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Say in sentences what would happen to a run now, and why')
            [CompletionResult]::new('metrics', 'metrics', [CompletionResultType]::ParameterValue, 'Print metrics in the OpenMetrics text format')
            [CompletionResult]::new('reset', 'reset', [CompletionResultType]::ParameterValue, 'Close breakers and clear their counters; the history stays')
            [CompletionResult]::new('trip', 'trip', [CompletionResultType]::ParameterValue, 'Open a breaker now')
            [CompletionResult]::new('hold', 'hold', [CompletionResultType]::ParameterValue, 'Refuse every run, or admit every run, until released')
            [CompletionResult]::new('release', 'release', [CompletionResultType]::ParameterValue, 'End an override')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Remove breakers and their history')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show the settings that a run would have, and where each comes from')
            [CompletionResult]::new('profiles', 'profiles', [CompletionResultType]::ParameterValue, 'Show the built-in exit-code profiles')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write the manual pages into a directory')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'brk;run' {
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'The name of what the command depends on; runs with the same name share a breaker')
            [CompletionResult]::new('--failures', '--failures', [CompletionResultType]::ParameterName, 'Open after N failures in a row; 0 disables it [default: 3; disabled if a rate is set]')
            [CompletionResult]::new('--failure-rate', '--failure-rate', [CompletionResultType]::ParameterName, 'Open when this share of the window failed: 50% or 0.5')
            [CompletionResult]::new('--slow-rate', '--slow-rate', [CompletionResultType]::ParameterName, 'Open when this share of the window was slow; needs --slow-after')
            [CompletionResult]::new('--slow-after', '--slow-after', [CompletionResultType]::ParameterName, 'A run that takes longer than this is slow')
            [CompletionResult]::new('--window', '--window', [CompletionResultType]::ParameterName, 'What the rates look at: the last N runs (20) or the runs of the last DURATION (10m) [default: 20]')
            [CompletionResult]::new('--min-calls', '--min-calls', [CompletionResultType]::ParameterName, 'Minimum runs in the window before the rates apply [default: 10, or the window if that is smaller]')
            [CompletionResult]::new('--trip-on', '--trip-on', [CompletionResultType]::ParameterName, 'Outcomes that open the breaker immediately')
            [CompletionResult]::new('--cooldown', '--cooldown', [CompletionResultType]::ParameterName, 'How long it stays open at first: a duration, a number of refused runs (3runs), or both [default: 1m,1run]')
            [CompletionResult]::new('--backoff', '--backoff', [CompletionResultType]::ParameterName, 'Growth factor of the cooldown each time a probe fails [default: 2]')
            [CompletionResult]::new('--max-cooldown', '--max-cooldown', [CompletionResultType]::ParameterName, 'The longest cooldown [default: 1h]')
            [CompletionResult]::new('--jitter', '--jitter', [CompletionResultType]::ParameterName, 'Lengthen each cooldown by up to this share, so that many do not come back at once [default: 10%]')
            [CompletionResult]::new('--run-at-least-every', '--run-at-least-every', [CompletionResultType]::ParameterName, 'Allow a probe if nothing was launched for this long, even while open')
            [CompletionResult]::new('--probes', '--probes', [CompletionResultType]::ParameterName, 'How many probes may be alive at once [default: 1]')
            [CompletionResult]::new('--probe-successes', '--probe-successes', [CompletionResultType]::ParameterName, 'How many probes must succeed to close [default: 1]')
            [CompletionResult]::new('--probe-failures', '--probe-failures', [CompletionResultType]::ParameterName, 'How many failed probes open it again [default: 1]')
            [CompletionResult]::new('--probe', '--probe', [CompletionResultType]::ParameterName, 'Shell command to probe with instead of the real command')
            [CompletionResult]::new('--probe-command', '--probe-command', [CompletionResultType]::ParameterName, 'Shell command to probe with instead of the real command')
            [CompletionResult]::new('--probe-timeout', '--probe-timeout', [CompletionResultType]::ParameterName, 'How long that health check may take; 0 is no limit [default: 30s]')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The exit codes of a known program (''brk profiles'' lists them) [default: base]')
            [CompletionResult]::new('--success-on', '--success-on', [CompletionResultType]::ParameterName, 'Outcomes that are successes: codes, ranges, signals, timeout, not-started (0,100-110,SIGPIPE)')
            [CompletionResult]::new('--fail-on', '--fail-on', [CompletionResultType]::ParameterName, 'Outcomes that are failures')
            [CompletionResult]::new('--ignore-on', '--ignore-on', [CompletionResultType]::ParameterName, 'Outcomes that say nothing about what the command depends on')
            [CompletionResult]::new('--tell', '--tell', [CompletionResultType]::ParameterName, 'Let the command say what its run means, and when to come back, in the file BRK_TELL')
            [CompletionResult]::new('--max-retry-after', '--max-retry-after', [CompletionResultType]::ParameterName, 'The longest wait that a command may ask for with --tell [default: 24h]')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'Stop the command and its descendants after this long; 0 is no limit [default: 0s]')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Stop the command and its descendants after this long; 0 is no limit [default: 0s]')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'Signal sent on timeout [default: TERM]')
            [CompletionResult]::new('--signal', '--signal', [CompletionResultType]::ParameterName, 'Signal sent on timeout [default: TERM]')
            [CompletionResult]::new('-k', '-k', [CompletionResultType]::ParameterName, 'Delay from that signal to SIGKILL; if set, also applies when brk is signalled [default: 5s]')
            [CompletionResult]::new('--kill-after', '--kill-after', [CompletionResultType]::ParameterName, 'Delay from that signal to SIGKILL; if set, also applies when brk is signalled [default: 5s]')
            [CompletionResult]::new('--preserve-status', '--preserve-status', [CompletionResultType]::ParameterName, 'After a timeout, exit as the command did and not with 124')
            [CompletionResult]::new('--kill-leftovers', '--kill-leftovers', [CompletionResultType]::ParameterName, 'Stop what the command leaves running in the background')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing on standard error when a run is refused')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing on standard error when a run is refused')
            [CompletionResult]::new('--refused-exit', '--refused-exit', [CompletionResultType]::ParameterName, 'The exit code of a refusal [default: 75]')
            [CompletionResult]::new('--observe', '--observe', [CompletionResultType]::ParameterName, 'Try a policy out: count what would be refused, and run it all the same')
            [CompletionResult]::new('--on-state-error', '--on-state-error', [CompletionResultType]::ParameterName, 'What to do if the state cannot be used: run unguarded, or refuse with 125 [default: run]')
            [CompletionResult]::new('--on-store-error', '--on-store-error', [CompletionResultType]::ParameterName, 'If a shared store cannot be used: continue with this host''s own state (local), run unguarded, or refuse with 125 [default: local]')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write what became of the run to FILE, as one JSON object')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'Try again up to N times after a failure, until the breaker opens; BRK_ATTEMPT counts from 1 [default: 0]')
            [CompletionResult]::new('--retry-delay', '--retry-delay', [CompletionResultType]::ParameterName, 'Upper bound of the random delay before the first retry [default: 1s]')
            [CompletionResult]::new('--retry-backoff', '--retry-backoff', [CompletionResultType]::ParameterName, 'Growth factor of that delay with each attempt [default: 2]')
            [CompletionResult]::new('--retry-max-delay', '--retry-max-delay', [CompletionResultType]::ParameterName, 'Maximum retry delay [default: 1m]')
            [CompletionResult]::new('--retry-jitter', '--retry-jitter', [CompletionResultType]::ParameterName, 'How much of each delay is random; 0 makes delays exact [default: 100%]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Wait until admitted instead of being refused, for MAX at the most (--wait=10m, with the =)')
            [CompletionResult]::new('--max-concurrent', '--max-concurrent', [CompletionResultType]::ParameterName, 'At most N runs of this name with this flag at once; a further one is refused as busy')
            [CompletionResult]::new('--fallback', '--fallback', [CompletionResultType]::ParameterName, 'What to run with ''sh -c'' instead when the run is refused; its exit code is brk''s')
            [CompletionResult]::new('--fallback-on', '--fallback-on', [CompletionResultType]::ParameterName, 'When to run the fallback: refused, failure (a timeout too), timeout [default: refused]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What is shown of the command''s output: stream, on-failure, or on-change (for cron) [default: stream]')
            [CompletionResult]::new('--remind-every', '--remind-every', [CompletionResultType]::ParameterName, 'With --output on-change: show something again after this long without a success; 0 is never [default: 1d]')
            [CompletionResult]::new('--success-exit', '--success-exit', [CompletionResultType]::ParameterName, 'Exit with 0 if the outcome is a success, whatever the command''s exit code is')
            [CompletionResult]::new('--on-open', '--on-open', [CompletionResultType]::ParameterName, 'Run CMD with ''sh -c'' when the breaker opens, but not when a failed probe opens it again')
            [CompletionResult]::new('--on-close', '--on-close', [CompletionResultType]::ParameterName, 'Run CMD when the breaker closes, as --on-open')
            [CompletionResult]::new('--on-change', '--on-change', [CompletionResultType]::ParameterName, 'Run CMD at every change of phase, as --on-open')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'brk;check' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'brk;status' {
            [CompletionResult]::new('--watch', '--watch', [CompletionResultType]::ParameterName, 'Refresh until q or Ctrl-C [default: every 2s]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('--names', '--names', [CompletionResultType]::ParameterName, 'Print only the names, one a line')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'brk;history' {
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only the last N events [default: all; with --follow, 10]')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'Only the last N events [default: all; with --follow, 10]')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Only events that are not older than this')
            [CompletionResult]::new('--svg', '--svg', [CompletionResultType]::ParameterName, 'Write phases and outcomes over time into FILE, as a picture')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON Lines')
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Keep printing new events, until Ctrl-C')
            [CompletionResult]::new('--follow', '--follow', [CompletionResultType]::ParameterName, 'Keep printing new events, until Ctrl-C')
            [CompletionResult]::new('--timeline', '--timeline', [CompletionResultType]::ParameterName, 'Draw phases and outcomes over time instead of listing events')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;explain' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;metrics' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Replace FILE atomically, with the mode that the umask gives, instead of printing')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Replace FILE atomically, with the mode that the umask gives, instead of printing')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;reset' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'All breakers')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;trip' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'For how long [default: the cooldown of its last run]')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Reason to record')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;hold' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'End the override by itself after this long')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Reason to record')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;release' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;forget' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;config' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Only check all files and all sections; exit 2 if something is wrong')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;profiles' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('--names', '--names', [CompletionResultType]::ParameterName, 'Print only the names, one a line')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;completions' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;man' {
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '''' for this host''s own files [default: BRK_STORE]')
            [CompletionResult]::new('--store-password-file', '--store-password-file', [CompletionResultType]::ParameterName, 'The file that holds the password of that store')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto asks whether it is a terminal, and NO_COLOR')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'brk;help' {
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Run a command if its breaker admits it')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Say whether a run would be admitted now: exit 0 yes, 75 no')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show all breakers, or some in detail')
            [CompletionResult]::new('history', 'history', [CompletionResultType]::ParameterValue, 'Show what happened to a breaker, newest last')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Say in sentences what would happen to a run now, and why')
            [CompletionResult]::new('metrics', 'metrics', [CompletionResultType]::ParameterValue, 'Print metrics in the OpenMetrics text format')
            [CompletionResult]::new('reset', 'reset', [CompletionResultType]::ParameterValue, 'Close breakers and clear their counters; the history stays')
            [CompletionResult]::new('trip', 'trip', [CompletionResultType]::ParameterValue, 'Open a breaker now')
            [CompletionResult]::new('hold', 'hold', [CompletionResultType]::ParameterValue, 'Refuse every run, or admit every run, until released')
            [CompletionResult]::new('release', 'release', [CompletionResultType]::ParameterValue, 'End an override')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Remove breakers and their history')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show the settings that a run would have, and where each comes from')
            [CompletionResult]::new('profiles', 'profiles', [CompletionResultType]::ParameterValue, 'Show the built-in exit-code profiles')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write the manual pages into a directory')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'brk;help;run' {
            break
        }
        'brk;help;check' {
            break
        }
        'brk;help;status' {
            break
        }
        'brk;help;history' {
            break
        }
        'brk;help;explain' {
            break
        }
        'brk;help;metrics' {
            break
        }
        'brk;help;reset' {
            break
        }
        'brk;help;trip' {
            break
        }
        'brk;help;hold' {
            break
        }
        'brk;help;release' {
            break
        }
        'brk;help;forget' {
            break
        }
        'brk;help;config' {
            break
        }
        'brk;help;profiles' {
            break
        }
        'brk;help;completions' {
            break
        }
        'brk;help;man' {
            break
        }
        'brk;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
