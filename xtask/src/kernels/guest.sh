#!/bin/sh
# Runs as root inside a virtual machine: brings about each situation named on the kernel's command line and runs the tests in it.
# Everything is said on the console, between `@@BEGIN SITUATION USER STEP` and `@@END CODE`.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
cd /
word() { tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"; }
. "$(word ash.programs)/paths.sh"
. "$HERE/dangers.sh"

# What distributions tighten against ordinary users would make controls fail that show what the sandbox alone does.
for setting in kernel.perf_event_paranoid=1 vm.unprivileged_userfaultfd=1 kernel.dmesg_restrict=0 kernel.yama.ptrace_scope=0 \
  dev.tty.legacy_tiocsti=1 kernel.printk='1 4 1 7'; do
  sysctl -q -w "$setting" 2>/dev/null
done
hostname lab
install -d -m 0700 -o 1000 -g 1000 /home/tester/.ssh /home/tester/source /home/tester/results
install -d -m 0700 /root/.ssh /root/source /root/results
for home in /root /home/tester; do
  echo private-key >$home/.ssh/id_rsa
  echo 'print(1)' >$home/source/main.py
done
chown -R 1000:1000 /home/tester
# A group of control groups that the user may fill, as systemd delegates them.
echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/delegated
chown -R 1000:1000 /sys/fs/cgroup/delegated

as() {
  case $1 in
    root) shift; env -i HOME=/root USER=root PATH="$PATH" TERM=dumb LANG=C.UTF-8 RUST_BACKTRACE=0 "$@" ;;
    user)
      shift
      setpriv --reuid=1000 --regid=1000 --clear-groups --inh-caps=-all \
        env -i HOME=/home/tester USER=tester PATH="$PATH" TERM=dumb LANG=C.UTF-8 RUST_BACKTRACE=0 "$@"
      ;;
  esac
}

home() { case $1 in root) echo /root ;; user) echo /home/tester ;; esac; }

# step USER NAME COMMAND...
step() {
  step_user=$1 step_name=$2
  shift 2
  printf '\n@@BEGIN %s %s %s %s\n' "$situation" "$step_user" "$step_name" "$(cut -d ' ' -f 1 /proc/uptime)"
  "$@" 2>&1
  printf '\n@@END %s %s\n' "$?" "$(cut -d ' ' -f 1 /proc/uptime)"
}

status() { as "$1" timeout 120 "$ASH" sandbox status --json; }

# The smallest use: a command that looks for the private key, with what ash says about it as the last line.
smoke() {
  where=$(home "$1")
  as "$1" timeout 120 "$ASH" sandbox run --sandbox "$2" --json --offline --source-dir "$where/source" --results-dir "$where/results" -- \
    sh -c 'echo "inside as $(id -u)"; if cat "$1"/.ssh/id_rsa; then echo EXPOSED; fi; cat main.py; echo x >"$2"/written && echo wrote' sh "$where" "$where/results"
}

# test USER NAME [ARGUMENT...]
program() {
  who=$1 name=$2
  shift 2
  eval "file=\$TEST_$name"
  rm -f "/tmp/log-$who"
  # The emulator translates code anew for every address it lies at: with random ones these programs take twice as long.
  echo 0 >/proc/sys/kernel/randomize_va_space
  as "$who" env ASH_REQUIRE_BACKENDS="$required" ASH_TEST_PATIENCE=6 ASH_HOSTILE_LOG="/tmp/log-$who" timeout --kill-after=30 3000 "$file" "$@" 2>&1
  code=$?
  echo 2 >/proc/sys/kernel/randomize_va_space
  [ ! -f "/tmp/log-$who" ] || sed 's/^/@attack /' "/tmp/log-$who"
  return $code
}

hide() { mv "/usr/bin/$1" "/usr/bin/$1.away"; }
show() { mv "/usr/bin/$1.away" "/usr/bin/$1"; }

profile() {
  cat <<'END'
profile kernels-bwrap /usr/bin/bwrap {
  file,
  /** ix,
  network,
  unix,
  mount,
  umount,
  pivot_root,
  signal,
  ptrace,
  capability sys_admin,
  capability setuid,
  capability setgid,
  capability sys_ptrace,
  capability sys_chroot,
  capability setpcap,
}
END
}

bring_about() {
  required=bwrap,firejail,landlock
  case $1 in
    default) ;;
    # Without Landlock firejail hides the account's own home only, and the tests bring homes of their own.
    no-landlock) required=bwrap ;;
    no-userns-clone) sysctl -q -w kernel.unprivileged_userns_clone=0; required=firejail,landlock ;;
    no-userns-max) sysctl -q -w user.max_user_namespaces=0; required=firejail,landlock ;;
    apparmor) profile >/tmp/profile; apparmor_parser -a /tmp/profile; required=firejail,landlock ;;
    nothing) sysctl -q -w user.max_user_namespaces=0; hide firejail; required= ;;
    *) echo "@@ no situation $1" ;;
  esac
}

undo() {
  case $1 in
    no-userns-clone) sysctl -q -w kernel.unprivileged_userns_clone=1 ;;
    no-userns-max) sysctl -q -w user.max_user_namespaces="$most_namespaces" ;;
    apparmor) apparmor_parser -R /tmp/profile ;;
    nothing) sysctl -q -w user.max_user_namespaces="$most_namespaces"; show firejail ;;
  esac
}

most_namespaces=$(cat /proc/sys/user/max_user_namespaces)
wants() { case ",$(word ash.steps)," in *",$1,"*) return 0 ;; *) return 1 ;; esac }
for situation in $(word ash.situations | tr ',' ' '); do
  bring_about "$situation"
  for user in $(word ash.users | tr ',' ' '); do
    step $user status status $user
    step $user smoke-auto smoke $user auto
    for backend in bwrap firejail landlock; do
      step $user smoke-$backend smoke $user $backend
    done
    if [ "$situation" != nothing ]; then
      hide firejail
      step $user status-without-firejail status $user
      show firejail
    fi
    # Where bubblewrap is refused, the other backends are what they are by default.
    case $situation-$user in
      default-* | no-landlock-user) ;;
      *) continue ;;
    esac
    if [ $user = root ] && wants dangers; then step root dangers dangers; fi
    filter=$(word ash.filter)
    if wants works; then step $user works program $user works $filter; fi
    if wants lifecycle; then step $user lifecycle program $user lifecycle $filter; fi
    if wants hostile; then step $user hostile program $user hostile $filter; fi
    if wants hostile-offline; then step $user hostile program $user hostile --skip ::online $filter; fi
  done
  undo "$situation"
done
printf '\n@@DONE\n'
sync
echo o >/proc/sysrq-trigger
sleep 30
