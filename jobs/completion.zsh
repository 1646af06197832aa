#compdef tiltmeter
_tiltmeter() {
    local -a found
    found=("${(@f)$(tiltmeter completion words "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
    if [[ -z "$found" ]]; then compset -P '*='; _files; return; fi
    compadd -Q -S '' -- ${(M)found:#*[=./]}
    compadd -Q -- ${found:#*[=./]}
}
compdef _tiltmeter tiltmeter
