_tiltmeter() {
    local line="${COMP_LINE:0:COMP_POINT}" word
    word="${line##*[[:space:]]}"
    mapfile -t COMPREPLY < <(tiltmeter completion words "$line" 2>/dev/null)
    [[ "${COMPREPLY[*]}" == *[=./] ]] && compopt -o nospace 2>/dev/null
    # Readline replaces what stands behind the last of these.
    [[ $word == *[=:]* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[=:]}"}"}")
    return 0
}
complete -o default -F _tiltmeter tiltmeter
