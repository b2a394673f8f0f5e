# A word is all between blanks: bash itself breaks `@name` and `name=value` apart.
_aiscorr_completion() {
    local line=${COMP_LINE:0:COMP_POINT} words type value whole prefix
    IFS=$' \t\n' read -ra words <<< "$line"
    [[ $line == *[[:blank:]] || ${#words[@]} -eq 0 ]] && words+=("")
    whole=${words[-1]}
    prefix=${whole%"${whole##*["$COMP_WORDBREAKS"]}"}
    COMPREPLY=()
    while IFS=',' read -r type value; do
        if [[ $type == file || $type == dir ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            COMPREPLY+=("${value#"$prefix"}")
            [[ $value == *= ]] && compopt -o nospace
        fi
    done < <(COMP_WORDS=$line COMP_CWORD=$((${#words[@]} - 1)) _AISCORR_COMPLETE=bash_complete "$1" 2>/dev/null)
    return 0
}
complete -o nosort -F _aiscorr_completion aiscorr
