"""Scripts by which bash, zsh and fish complete, from what can be typed where.

The scripts of bash and zsh walk the words before the cursor: commands lead to a level, a value is
passed over with its option, and what remains are arguments in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraphrastic_hf.cli.completion import Level, Option

Branch = Callable[[Sequence[str], Sequence[str]], str]  # of names and what each is
BASH = """\
# bash completion of paraphrastic; `paraphrastic completion bash` made it
_paraphrastic() {
    local cur="${COMP_WORDS[COMP_CWORD]}" level="" before="" place=0 skip="" word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ -n $skip ]]; then skip=""; before=""; continue; fi
        case "$level $word" in
@WALK@
            *" -"*) before="$word"; [[ $(_paraphrastic_values) ]] && skip=1 || before="" ;;
            *) place=$((place + 1)) ;;
        esac
    done
    if [[ -n $skip ]]; then
        word="$(_paraphrastic_values)"
    elif [[ $cur == -* ]]; then
        word="$(_paraphrastic_options)"
    else
        word="$(_paraphrastic_places)"
    fi
    [[ $word == FILE ]] || COMPREPLY=($(compgen -W "$word" -- "$cur"))
}
_paraphrastic_values() {
    case "$level $before" in
@VALUES@
    esac
}
_paraphrastic_options() {
    case "$level" in
@OPTIONS@
    esac
}
_paraphrastic_places() {
    case "$level $place" in
@PLACES@
        *) echo FILE ;;
    esac
}
complete -o bashdefault -o default -F _paraphrastic paraphrastic
"""
ZSH = """\
#compdef paraphrastic
# zsh completion of paraphrastic; `paraphrastic completion zsh` made it
_paraphrastic() {
    local level="" before="" place=0 skip="" word i
    local -a found
    for ((i = 2; i < CURRENT; i++)); do
        word="${words[i]}"
        if [[ -n $skip ]]; then skip=""; before=""; continue; fi
        case "$level $word" in
@WALK@
            *" -"*)
                before="$word"; found=(); _paraphrastic_values
                (( $#found )) && skip=1 || before="" ;;
            *) place=$((place + 1)) ;;
        esac
    done
    found=()
    if [[ -n $skip ]]; then
        _paraphrastic_values
    elif [[ $PREFIX == -* ]]; then
        _paraphrastic_options
    else
        _paraphrastic_places
    fi
    if [[ $found[1] == FILE ]]; then
        _files
    else
        _describe paraphrastic found || _files
    fi
}
_paraphrastic_values() {
    case "$level $before" in
@VALUES@
    esac
}
_paraphrastic_options() {
    case "$level" in
@OPTIONS@
    esac
}
_paraphrastic_places() {
    case "$level $place" in
@PLACES@
        *) found=(FILE) ;;
    esac
}
if [[ $funcstack[1] == _paraphrastic ]]; then
    _paraphrastic "$@"
else
    compdef _paraphrastic paraphrastic
fi
"""
FISH = """\
# fish completion of paraphrastic; `paraphrastic completion fish` made it
function __paraphrastic_at
    set -l words (commandline -opc)
    set -e words[1]
    for word in $argv
        test "$words[1]" = "$word"; or return 1
        set -e words[1]
    end
end
function __paraphrastic_next
    __paraphrastic_at $argv; and test (count (commandline -opc)) -eq (math (count $argv) + 1)
end
"""


def bash(levels: Sequence[Level]) -> str:
    """The script of bash.

    Args:
        levels: What can be typed in each place.
    """

    def echo(words: Sequence[str]) -> str:
        return f'echo "{" ".join(words)}" ;;'

    cases = _cases(levels, lambda names, _: echo(names))
    return _filled(BASH, cases)


def zsh(levels: Sequence[Level]) -> str:
    """The script of zsh, with what each command and option is.

    Args:
        levels: What can be typed in each place.
    """

    def array(names: Sequence[str], summaries: Sequence[str]) -> str:
        described = [
            _quoted(name.replace(":", "\\:") + (f":{text}" if text else ""))
            for name, text in zip(names, summaries, strict=True)
        ]
        return f"found=({' '.join(described)}) ;;"

    return _filled(ZSH, _cases(levels, array))


def fish(levels: Sequence[Level]) -> str:
    """The script of fish, with what each command and option is.

    Args:
        levels: What can be typed in each place.
    """
    lines = []
    for level in levels:
        path = " ".join(level.path)
        start = f"complete -c paraphrastic -n '__paraphrastic_at {path}'"
        following = f"complete -c paraphrastic -n '__paraphrastic_next {path}'"
        for name, text in level.commands.items():
            lines.append(f"{following} -f -a {name} -d {_fish_quoted(text)}")
        for option in level.options:
            lines.append(f"{start} {_fish_option(option)}")
        names = [name for place in level.places for name in place]
        if names:
            lines.append(f"{start} -a '{' '.join(dict.fromkeys(names))}'")
    return FISH + "\n".join(lines) + "\n"


def _cases(levels: Sequence[Level], made: Branch) -> dict[str, list[str]]:
    """The branches of the four `case` statements that the scripts of bash and zsh have."""
    walk, values, options, places = [], [], [], []
    for level in levels:
        path = " ".join(level.path)
        for name in level.commands:
            walk.append(f'"{path} {name}") level="{f"{path} {name}".strip()}"; place=0 ;;')
        names = [name for option in level.options for name in option.names]
        texts = [option.summary for option in level.options for _ in option.names]
        options.append(f'"{path}") {made(names, texts)}')
        for option in level.options:
            if option.takes_value:
                patterns = "|".join(f'"{path} {name}"' for name in option.names)
                chosen = option.values or ("FILE",)
                values.append(f"{patterns}) {made(chosen, [''] * len(chosen))}")
        if level.commands:
            places.append(
                f'"{path} 0") {made(list(level.commands), list(level.commands.values()))}'
            )
        for number, place in enumerate(level.places):
            if place:
                places.append(f'"{path} {number}") {made(place, [""] * len(place))}')
    return {"WALK": walk, "VALUES": values, "OPTIONS": options, "PLACES": places}


def _filled(script: str, cases: dict[str, list[str]]) -> str:
    for name, lines in cases.items():
        indent = "            " if name == "WALK" else "        "
        script = script.replace(f"@{name}@", "\n".join(indent + line for line in lines))
    return script


def _fish_option(option: Option) -> str:
    names = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    ]
    value = ["-r"] * option.takes_value
    if option.values:
        value = ["-r" if option.takes_files else "-x", f"-a '{' '.join(option.values)}'"]
    return " ".join([*names, *value, "-d", _fish_quoted(option.summary)])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
