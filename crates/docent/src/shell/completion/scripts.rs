//! The completion scripts of the shells: each calls `docent __complete`.
//!
//! The first line of its output is `words` or `files`; each further line is a word, for zsh and fish with a tab and its
//! description.

/// For bash, 3.2 and later.
pub(super) const BASH: &str = r#"# Completion of docent in bash: eval "$(docent completions bash)"
_docent() {
    local program="$1" line="${COMP_LINE:0:COMP_POINT}" whole prefix="" breaks="" c kind="" word
    type -P -- "$program" >/dev/null || program=docent
    # bash splits words at these; what it has split off is not typed again.
    whole="${line##*[[:space:]]}"
    for c in = : @; do
        case "$COMP_WORDBREAKS" in *"$c"*) breaks="$breaks$c" ;; esac
    done
    if [ -n "$breaks" ]; then
        prefix="${whole%"${whole##*[$breaks]}"}"
    fi
    COMPREPLY=()
    while IFS= read -r word; do
        if [ -z "$kind" ]; then
            kind="$word"
        else
            COMPREPLY+=("${word#"$prefix"}")
        fi
    done < <("$program" __complete bash -- "$line" 2>/dev/null)
    if [ "$kind" = files ]; then
        while IFS= read -r word; do
            COMPREPLY+=("$word")
        done < <(compgen -f -- "${whole#"$prefix"}")
        type compopt >/dev/null 2>&1 && compopt -o filenames
    elif [ "${#COMPREPLY[@]}" = 1 ]; then
        case "${COMPREPLY[0]}" in *=) type compopt >/dev/null 2>&1 && compopt -o nospace ;; esac
    fi
    return 0
}
complete -F _docent docent
"#;

/// For zsh, as a file on `fpath` or through `source`.
pub(super) const ZSH: &str = r#"#compdef docent
# Completion of docent in zsh: source <(docent completions zsh)
_docent() {
    local program="${words[1]}" kind line word about
    local -a lines plain plain_about open open_about
    (( $+commands[$program] )) || [[ -x "$program" ]] || program=docent
    lines=("${(@f)$("$program" __complete zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    kind="${lines[1]}"
    if [[ "$kind" == files ]]; then
        compset -P '*=@' || compset -P '*=' || compset -P '@'
        _files
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        word="${line%%$'\t'*}"
        about="${line#*$'\t'}"
        [[ -n "$about" ]] && about="$word  -- $about" || about="$word"
        if [[ "$word" == *= ]]; then
            open+=("$word") open_about+=("$about")
        else
            plain+=("$word") plain_about+=("$about")
        fi
    done
    (( ${#plain} )) && compadd -Q -l -d plain_about -a plain
    (( ${#open} )) && compadd -Q -l -S '' -d open_about -a open
    return 0
}
if [[ "$funcstack[1]" = "_docent" ]]; then
    _docent "$@"
elif (( $+functions[compdef] )); then
    compdef _docent docent
fi
"#;

/// For fish.
pub(super) const FISH: &str = r#"# Completion of docent in fish: docent completions fish | source
function __docent_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    command -q -- $program; or set program docent
    set -l lines ($program __complete fish -- $before[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = files
        set -l prefix (string match -r -- '^[^=]*=@?|^@' "$current")
        set -l path (string replace -- "$prefix" '' "$current")
        for found in (__fish_complete_path "$path")
            printf '%s\n' "$prefix$found"
        end
    else if test (count $lines) -gt 1
        printf '%s\n' $lines[2..-1]
    end
end
complete -c docent -f -a '(__docent_complete)'
"#;
