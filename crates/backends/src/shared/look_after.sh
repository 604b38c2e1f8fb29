# Looks after the processes of one terminal, where they run.
# $1: the variable that all of them were born with, or pid:N for N and what came of it; $2: what to do; $3: a signal or a grace in tenths of a second;
# $4: whom a signal goes to.
mark=$1
self=$$

# Reads what the kernel says about $1: parent, group, session, the group in the foreground of its tty, its start, how much memory it has, and
# where its variables begin and end there.
look() {
  state='' parent='' group='' session='' front='' start='' room='' from='' to=''
  { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -- ${line##*)}
  state=$1 parent=$2 group=$3 session=$4 front=$6 start=${20} room=${21} from=${48} to=${49}
  [ "$state" != Z ] && [ "$state" != X ]
}

# Of $all, those that were born with the mark become $born. Who becomes another program meanwhile may seem to have no
# variables, and its variables stand elsewhere then: those are left in $all, to be asked again.
sift() {
  files=''
  for pid in $all; do
    look "$pid" && eval "from_$pid=\$from" && files="$files /proc/$pid/environ"
  done
  for file in $(grep -l "$mark" /dev/null $files 2>/dev/null); do
    file=${file#/proc/}
    born="$born${file%/environ} "
  done
  unsure=''
  for pid in $all; do
    case $born in *" $pid "*) continue ;; esac
    # What has no memory is the kernel's, or has ended.
    look "$pid" && [ "$room" != 0 ] || continue
    eval "was=\${from_$pid-}"
    [ "$from" = "$was" ] && [ "$from" != 0 ] && continue
    unsure="$unsure $pid"
  done
  all=$unsure
}

# Whether $1 was born with the mark. It is asked until it answers, or stays as it is and has no variables.
asked() {
  [ -r "/proc/$1/environ" ] || return 1
  asks=0
  while [ "$asks" -lt 50 ] && look "$1"; do
    was=$from
    # Shells leave the NULs out, some with a complaint.
    { said=$(cat "/proc/$1/environ"); } 2>/dev/null || return 1
    case $said in
      *"$mark"*) return 0 ;;
      ?*) return 1 ;;
    esac
    look "$1" && [ "$room" != 0 ] || return 1
    [ "$from" != 0 ] && [ "$from" = "$was" ] && return 1
    asks=$((asks + 1))
  done
  return 1
}

# Does $1 for every process, by its number and what the kernel says of it from its state on. One reader for all of them:
# shells read byte by byte.
each() {
  IFS=$newline
  for line in $(cat /proc/[0-9]*/stat 2>/dev/null); do
    IFS=$blanks
    # No pattern in a name stands for files.
    set -f
    set -- "$1" "${line%% *}" ${line##*)}
    set +f
    case $2 in '' | *[!0-9]*) continue ;; esac
    "$@"
  done
  IFS=$blanks
}
blanks=$IFS
newline='
'

# Remembers where the variables of $1 are.
remember() { eval "from_$1=\${49}"; }

# Whether the variables of $1 are where they were. What has no memory is the kernel's, or has ended.
compare() {
  case "$2 ${22}" in Z* | X* | *' 0') return ;; esac
  eval "was=\${from_$1-}"
  [ "${49}" = "$was" ] && [ "$was" != 0 ] || all="$all $1"
}

# All that were born with the mark.
marked() {
  born=' ' all=''
  each remember
  for file in $(grep -l "$mark" /proc/[0-9]*/environ 2>/dev/null); do
    file=${file#/proc/}
    born="$born${file%/environ} "
  done
  each compare
  [ -z "$all" ] || sift
  for pid in $all; do asked "$pid" && born="$born$pid "; done
}

# Is $1 born with the mark? Whose are those that are not is remembered. This script and pid 1 are neither.
sort_out() {
  case "$1 $2" in "1 "* | "$self "* | *Z | *X) return ;; esac
  case $born in
    *" $1 "*) found="$found$1 " ;;
    *) rest="$rest$1 "; eval "parent_$1=\$3 session_$1=\$5" ;;
  esac
}

# All that are born with the mark, descend from such, or are in a session with such.
tree() {
  case $mark in
    pid:*) born=" ${mark#pid:} " ;;
    *) marked ;;
  esac
  found=' '
  rest=' '
  each sort_out
  # Nobody descends from nobody.
  [ "$found" = ' ' ] && return
  more=1
  while [ "$more" = 1 ]; do
    more=0
    left=' '
    for pid in $rest; do
      eval "parent=\$parent_$pid session=\$session_$pid"
      case $found in
        *" $parent "* | *" $session "*) found="$found$pid " more=1 ;;
        *) left="$left$pid " ;;
      esac
    done
    rest=$left
  done
}

# Whether one of those that were found is there.
remain() {
  for pid in $found; do look "$pid" && return; done
  return 1
}

# Tenths of a second since this machine began.
now() {
  IFS=' .' read -r now hundredths idle </proc/uptime
  now=$((now * 10 + ${hundredths%?}))
}

# The program: the oldest one whose parent is none of them.
program() {
  oldest='' first=''
  for pid in $found; do
    look "$pid" || continue
    case $found in *" $parent "*) continue ;; esac
    if [ -z "$oldest" ] || [ "$start" -lt "$oldest" ]; then oldest=$start first=$pid; fi
  done
  [ -n "$first" ] && pid=$first && look "$pid"
}

count() { set -- $found; echo "$#"; }

tree
case $2 in
  count)
    echo "found $(count)"
    ;;
  signal)
    program || { echo gone; exit 0; }
    if [ "$4" = group ]; then
      [ "$front" -gt 0 ] 2>/dev/null || front=$group
      # Without `--`, which not every shell takes here.
      kill -"$3" "-$front"
    else
      kill -"$3" "$pid"
    fi
    ;;
  resize)
    # The tty that the program has open, or else one of the others. Only a device is opened: a pipe would wait.
    pid=''
    program
    for pid in $pid $found; do
      for end in 0 1 2; do
        [ -c "/proc/$pid/fd/$end" ] || continue
        stty rows "$3" cols "$4" <"/proc/$pid/fd/$end" 2>/dev/null && exit 0
      done
    done
    echo 'no tty is found'
    exit 1
    ;;
  kill)
    echo "found $(count)"
    [ "$found" = ' ' ] && exit 0
    if [ "$3" -gt 0 ]; then
      echo last 15
      for name in HUP TERM CONT; do kill -"$name" $found 2>/dev/null; done
      now
      until=$((now + $3))
      # A look at all there are is dear where many look: it is taken when those that are known are gone.
      while tree && [ "$found" != ' ' ] && now && [ "$now" -lt "$until" ]; do
        while remain && now && [ "$now" -lt "$until" ]; do sleep 0.1 2>/dev/null || sleep 1; done
      done
    fi
    rounds=0
    while [ "$found" != ' ' ] && [ "$rounds" -lt 20 ]; do
      [ "$rounds" = 0 ] && echo last 9
      kill -KILL $found 2>/dev/null
      rounds=$((rounds + 1))
      [ "$rounds" -gt 2 ] && { sleep 0.05 2>/dev/null || sleep 1; }
      tree
    done
    echo "left$found"
    ;;
esac
