# Looks after the processes of one terminal, where they run.
# $1: the variable that all of them were born with, or pid:N for N and what came of it; $2: what to do; $3: a signal or a grace in tenths of a second;
# $4: whom a signal goes to.
mark=$1
self=$$

# Reads what the kernel says about $1: parent, group, session, the group in the foreground of its tty, and its start.
look() {
  state='' parent='' group='' session='' front='' start=''
  { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -- ${line##*)}
  state=$1 parent=$2 group=$3 session=$4 front=$6 start=${20}
  [ "$state" != Z ] && [ "$state" != X ]
}

# All that are born with the mark, descend from such, or are in a session with such. This script and pid 1 are not.
tree() {
  case $mark in
    pid:*) born=" ${mark#pid:} " ;;
    *)
      born=' '
      for file in $(grep -l "$mark" /proc/[0-9]*/environ 2>/dev/null); do
        file=${file#/proc/}
        born="$born${file%/environ} "
      done
      ;;
  esac
  found=' '
  rest=' '
  for dir in /proc/[0-9]*; do
    pid=${dir#/proc/}
    [ "$pid" = 1 ] || [ "$pid" = "$self" ] && continue
    case $born in
      *" $pid "*) look "$pid" && found="$found$pid " ;;
      *) rest="$rest$pid " ;;
    esac
  done
  # Nobody descends from nobody.
  [ "$found" = ' ' ] && return
  more=1
  while [ "$more" = 1 ]; do
    more=0
    left=' '
    for pid in $rest; do
      look "$pid" || continue
      case $found in
        *" $parent "* | *" $session "*) found="$found$pid " more=1 ;;
        *) left="$left$pid " ;;
      esac
    done
    rest=$left
  done
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
      tenths=0
      while tree && [ "$found" != ' ' ] && [ "$tenths" -lt "$3" ]; do
        sleep 0.1 2>/dev/null || { sleep 1; tenths=$((tenths + 9)); }
        tenths=$((tenths + 1))
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
