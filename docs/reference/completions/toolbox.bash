# bash completion for toolbox
_toolbox() {
    local cur prev words cword
    cur=${COMP_WORDS[COMP_CWORD]}
    # With = among the word breaks, --color=al comes as three words.
    prev=${COMP_WORDS[COMP_CWORD-1]}
    if [[ $cur == = ]]; then cur=
    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W 'json diff call serve mcp status stop tools attach doctor completions help --help --version' -- "$cur"))
        return
    fi
    local command=${COMP_WORDS[1]} verb= values= flags= place= kind=
    case $command in
    json)
        if (( COMP_CWORD == 2 )); then
            COMPREPLY=($(compgen -W 'get keys query schema validate pretty --help' -- "$cur")); return
        fi
        verb=${COMP_WORDS[2]} ;;
    diff)
        if (( COMP_CWORD == 2 )); then
            COMPREPLY=($(compgen -W 'files text dirs lines json csv markdown patch revisions sequence apply undo history --help' -- "$cur")); return
        fi
        verb=${COMP_WORDS[2]} ;;
    help)
        if (( COMP_CWORD == 2 )); then values='json diff call serve mcp status stop tools attach doctor completions help'
        elif (( COMP_CWORD == 3 )); then
            case ${COMP_WORDS[2]} in
            json) values='get keys query schema validate pretty' ;;
            diff) values='files text dirs lines json csv markdown patch revisions sequence apply undo history' ;;
            esac
        fi
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
        return ;;
    esac
    case "$command $verb" in
    'json get')
        flags='--file --text --doc --path --raw --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --file) kind=file ;;
        --text) kind=value ;;
        --doc) values='*' ;;
        --path) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'json keys')
        flags='--file --text --doc --path --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --file) kind=file ;;
        --text) kind=value ;;
        --doc) values='*' ;;
        --path) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'json query')
        flags='--file --text --doc --path --where --select --limit --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --file) kind=file ;;
        --text) kind=value ;;
        --doc) values='*' ;;
        --path) kind=value ;;
        --where) kind=value ;;
        --select) kind=value ;;
        --limit) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'json schema')
        flags='--file --text --doc --path --depth --sample --format --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --file) kind=file ;;
        --text) kind=value ;;
        --doc) values='*' ;;
        --path) kind=value ;;
        --depth) kind=value ;;
        --sample) kind=value ;;
        --format) values='json-schema shape' ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'json validate')
        flags='--file --text --doc --schema --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --file) kind=file ;;
        --text) kind=value ;;
        --doc) values='*' ;;
        --schema) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'json pretty')
        flags='--file --text --doc --path --compact --indent --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --file) kind=file ;;
        --text) kind=value ;;
        --doc) values='*' ;;
        --path) kind=value ;;
        --indent) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff files')
        flags='--context --ignore-whitespace --ignore-case --format --cursor --a --b --stat --side-by-side --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --context) kind=value ;;
        --format) values='both structured unified' ;;
        --cursor) kind=value ;;
        --a) kind=file ;;
        --b) kind=file ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff text')
        flags='--context --ignore-whitespace --ignore-case --format --cursor --a --b --stat --side-by-side --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --context) kind=value ;;
        --format) values='both structured unified' ;;
        --cursor) kind=value ;;
        --a) kind=value ;;
        --b) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff dirs')
        flags='--a --b --glob --cursor --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --a) kind=file ;;
        --b) kind=file ;;
        --glob) kind=value ;;
        --cursor) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff lines')
        flags='--old-text --new-text --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --old-text) kind=value ;;
        --new-text) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff json')
        flags='--before --after --a --b --max-changes --arrays --key --sort-keys --ignore-case --nesting --format --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --before) kind=value ;;
        --after) kind=value ;;
        --a) kind=file ;;
        --b) kind=file ;;
        --max-changes) kind=value ;;
        --arrays) values='align index' ;;
        --key) kind=value ;;
        --nesting) kind=value ;;
        --format) values='json-patch structured' ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff csv')
        flags='--before --after --a --b --max-changes --key --delimiter --ignore-whitespace --ignore-case --format --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --before) kind=value ;;
        --after) kind=value ;;
        --a) kind=file ;;
        --b) kind=file ;;
        --max-changes) kind=value ;;
        --key) kind=value ;;
        --delimiter) kind=value ;;
        --format) values='structured' ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff markdown')
        flags='--before --after --a --b --max-changes --ignore-whitespace --ignore-case --context --format --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --before) kind=value ;;
        --after) kind=value ;;
        --a) kind=file ;;
        --b) kind=file ;;
        --max-changes) kind=value ;;
        --context) kind=value ;;
        --format) values='both structured unified' ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff patch')
        flags='--before --after --a --b --max-changes --context --ignore-whitespace --ignore-case --format --stat --side-by-side --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --before) kind=value ;;
        --after) kind=value ;;
        --a) kind=file ;;
        --b) kind=file ;;
        --max-changes) kind=value ;;
        --context) kind=value ;;
        --format) values='unified' ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff revisions')
        flags='--from --to --format --paths --context --limit --max-bytes --cursor --stat --side-by-side --workspace --json --color --no-daemon --help'
        case $prev in
        --from) kind=value ;;
        --to) kind=value ;;
        --format) values='names stat unified' ;;
        --paths) kind=value ;;
        --context) kind=value ;;
        --limit) kind=value ;;
        --max-bytes) kind=value ;;
        --cursor) kind=value ;;
        --workspace) kind=folder ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff sequence')
        flags='--left --right --context --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --left) kind=value ;;
        --right) kind=value ;;
        --context) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff apply')
        flags='--patch --patch-file --file --strip --relocate --recount --eol --expect-sha256 --write --dry-run --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --patch) kind=value ;;
        --patch-file) kind=file ;;
        --file) kind=file ;;
        --strip) values='auto' ;;
        --eol) values='exact file' ;;
        --expect-sha256) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff undo')
        flags='--id --write --dry-run --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --id) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'diff history')
        flags='--limit --workspace --json --max-bytes --color --no-daemon --help'
        case $prev in
        --limit) kind=value ;;
        --workspace) kind=folder ;;
        --max-bytes) kind=value ;;
        --color) values='auto always never' ;;
        esac ;;
    'call ')
        flags='--help --explain --jsonl --workspace'
        case $prev in
        --workspace) kind=folder ;;
        esac ;;
    'serve ')
        flags='--help --workspace --stdio --format --socket --http --token-file --no-token --workers --deadline --kept-mib --confine --idle --quiet --warm-mcp --cross-mounts --write-units'
        case $prev in
        --workspace) kind=folder ;;
        --format) values='tags jsonl' ;;
        --socket) kind=file ;;
        --http) kind=value ;;
        --token-file) kind=file ;;
        --workers) kind=value ;;
        --deadline) kind=value ;;
        --kept-mib) kind=value ;;
        --confine) values='require warn off' ;;
        --idle) kind=value ;;
        --write-units) kind=folder ;;
        esac ;;
    'mcp ')
        flags='--help --workspace --tools --confine'
        case $prev in
        --workspace) kind=folder ;;
        --tools) values='tools verbs' ;;
        --confine) values='require warn off' ;;
        esac ;;
    'status ')
        flags='--help --json --workspace'
        case $prev in
        --workspace) kind=folder ;;
        esac ;;
    'stop ')
        flags='--help --json --workspace'
        case $prev in
        --workspace) kind=folder ;;
        esac ;;
    'tools ')
        flags='--help --json'
        case $prev in
        esac ;;
    'attach ')
        flags='--help --workspace --print --yes --tools'
        place='claude-code codex gemini vscode cursor opencode zed'
        case $prev in
        --workspace) kind=folder ;;
        --tools) values='tools verbs' ;;
        esac ;;
    'doctor ')
        flags='--help --json --workspace'
        case $prev in
        --workspace) kind=folder ;;
        esac ;;
    'completions ')
        flags='--help'
        place='bash zsh fish'
        case $prev in
        esac ;;
    esac
    if [[ -n $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
    elif [[ $kind == folder ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -d -- "$cur"))
    elif [[ $kind == value ]]; then
        return
    elif [[ $cur == -* && $kind != file ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    elif [[ -n $place && $kind != file ]]; then
        COMPREPLY=($(compgen -W "$place" -- "$cur"))
    else
        compopt -o filenames 2>/dev/null
        local IFS=$'\n'
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}
complete -F _toolbox toolbox
