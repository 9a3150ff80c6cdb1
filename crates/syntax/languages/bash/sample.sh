#!/usr/bin/env bash
# Keeps dated copies of folders, and takes the oldest away.

set -euo pipefail

source "$(dirname "$0")/colours.sh"
. ./settings.sh

# How many copies are kept.
readonly KEEP=7
export BACKUP_ROOT="${BACKUP_ROOT:-/var/backups}"
declare -A seen=()

# Says something on standard error.
#
# Colours are left out where no one looks.
log() {
  local level="$1"; shift
  if [[ -t 2 && -z "${NO_COLOR:-}" ]]; then
    printf '%s%s%s\n' "$(colour "$level")" "$*" "$RESET" >&2
  else
    printf '%s: %s\n' "$level" "$*" >&2
  fi
}

function die {
  log error "$@"
  exit 1
}

# Copies one folder.
function copy_folder() {
  local from=$1 to=$2
  case "$from" in
    /*) ;;
    ~*) die "no home folders: $from" ;;
    *) from="$PWD/$from" ;;
  esac
  mkdir -p "$to" || return 1
  rsync --archive --delete "$from/" "$to/"

  # Runs when the copy was made.
  finish() {
    touch "$to/.done"
  }
  finish
}

prune() (
  cd "$BACKUP_ROOT"
  local count=0
  while read -r folder; do
    count=$((count + 1))
    if (( count > KEEP )) && [ -d "$folder" ]; then
      rm -rf -- "$folder"
    elif [ ! -e "$folder/.done" ]; then
      log warning "not finished: $folder"
    fi
  done < <(ls -1dt -- */)
)

main() {
  for folder in "$@"; do
    [[ -n "${seen[$folder]:-}" ]] && continue
    seen[$folder]=1
    copy_folder "$folder" "$BACKUP_ROOT/$(date +%F)/$(basename "$folder")"
  done
  until prune; do sleep 1; done
}

main "$@"
