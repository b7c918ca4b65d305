# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# bash completion of `millrace`. The command says what can follow; behind `--` stands a command of the user's.
_millrace() {
  local place IFS=$'\n'
  for ((place = 1; place < COMP_CWORD; place++)); do
    [[ ${COMP_WORDS[place]} == -- ]] || continue
    if declare -F _command_offset >/dev/null; then
      _command_offset $((place + 1))
    elif ((COMP_CWORD == place + 1)); then
      COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
    return
  done
  COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _MILLRACE_COMPLETE=complete_bash "${1/#\~/$HOME}" 2>/dev/null))
}
complete -o default -F _millrace millrace
