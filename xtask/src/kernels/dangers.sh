# What root could do to the whole machine, and only in a machine that is thrown away afterwards. Each is tried without a sandbox,
# where it has to work. Then each backend gets all of them at once, and none of their effects must show outside.

# danger NAME PREPARE ATTEMPT CHECK: PREPARE brings back the state in which CHECK (does the effect show?) fails. $1 is the victim.
danger() {
  case $phase in
    off) (eval "$2") >/dev/null 2>&1 ;;
    prepare) (eval "$2") >/dev/null 2>&1; return ;;
    attempts) printf 'echo "STARTED %s"\n(\n%s\n)\n' "$1" "$3" >>"$attempts"; return ;;
  esac
  if [ "$phase" = void ] || [ "$phase" = off ]; then
    if shows "$4"; then echo "@danger $1 $cell void"; voids="$voids $1 "; return; fi
    [ "$phase" = off ] || return 0
    said=$(as root timeout 60 "$ASH" sandbox run --sandbox off -- sh -c "echo STARTED $1; $3" sh "$(cat /tmp/victim)" 2>&1)
    printf '%s\n' "$said" | sed 's/^/  /'
  fi
  case $voids in *" $1 "*) return ;; esac
  if ! printf '%s\n' "$said" | grep -q "^STARTED $1\$"; then echo "@danger $1 $cell not-started"
  elif shows "$4"; then echo "@danger $1 $cell reached"
  else echo "@danger $1 $cell refused"
  fi
  [ "$phase" != off ] || (eval "$2") >/dev/null 2>&1
}

shows() { (eval "$1") >/dev/null 2>&1; }

dangers() {
  mkdir -p /srv/source /srv/results
  restart_victim
  attempts=/srv/source/attempts
  cell=off phase=off voids=
  every_danger
  for cell in $(echo "$required" | tr ',' ' '); do
    voids=
    phase=prepare every_danger
    : >"$attempts"
    phase=attempts every_danger
    phase=void every_danger
    said=$(as root timeout 300 "$ASH" sandbox run --sandbox "$cell" --offline --source-dir /srv/source --results-dir /srv/results --read /opt/modules -- \
      sh attempts "$(cat /tmp/victim)" 2>&1)
    printf '%s\n' "$said" | sed 's/^/  /'
    phase=judge every_danger
  done
  phase=prepare every_danger
  kill -9 "$(cat /tmp/victim)"
}

every_danger() {
  danger core-pattern 'echo core >/proc/sys/kernel/core_pattern' \
    'echo "|/tmp/pwned %p" >/proc/sys/kernel/core_pattern' \
    'grep -q pwned /proc/sys/kernel/core_pattern'
  danger address-layout 'echo 2 >/proc/sys/kernel/randomize_va_space' \
    'echo 0 >/proc/sys/kernel/randomize_va_space' \
    'grep -q 0 /proc/sys/kernel/randomize_va_space'
  # This one forgets the log; the two after it do not, or they would undo each other.
  danger sysrq 'dmesg --clear' \
    'echo s >/proc/sysrq-trigger; sleep 0.2' \
    'dmesg | grep -q "sysrq: Emergency Sync"'
  danger kernel-log 'echo remember >/dev/kmsg' \
    'dmesg --clear' \
    '! dmesg | grep -q remember'
  danger forged-kernel-log ':' \
    'echo forged >/dev/kmsg' \
    'dmesg | grep -q forged'
  danger host-name 'hostname lab' \
    'hostname pwned' \
    '[ "$(hostname)" = pwned ]'
  danger mount 'umount /srv/results/mounted; mkdir -p /srv/results/mounted' \
    'mount -t tmpfs none /srv/results/mounted' \
    'grep -q " /srv/results/mounted tmpfs " /proc/mounts'
  danger bind-mount 'umount /srv/results/covered; mkdir -p /srv/results/covered' \
    'mount --bind /etc /srv/results/covered' \
    '[ -e /srv/results/covered/passwd ]'
  danger module 'rmmod dummy' \
    'insmod /opt/modules/dummy.ko' \
    'grep -q "^dummy " /proc/modules'
  danger clock 'date -s 2030-01-01' \
    'date -s 2001-01-01' \
    '[ "$(date +%Y)" = 2001 ]'
  danger raw-disk 'rm -f /srv/results/sectors' \
    'head -c 4096 /dev/vda >/srv/results/sectors' \
    '[ -s /srv/results/sectors ]'
  danger made-disk 'rm -f /srv/results/disk /srv/results/blocks' \
    'mknod /srv/results/disk b $(printf "%d %d" $(stat -c "0x%t 0x%T" /dev/vda)) || mknod /srv/results/disk b 254 0; head -c 4096 /srv/results/disk >/srv/results/blocks' \
    '[ -s /srv/results/blocks ]'
  danger password-hashes 'rm -f /srv/results/hashes' \
    'cat /etc/shadow >/srv/results/hashes' \
    '[ -s /srv/results/hashes ]'
  danger owner 'chown 0:0 /etc/hostname; chmod 644 /etc/hostname' \
    'chown 1:1 /etc/hostname; chmod 777 /etc/hostname' \
    '[ "$(stat -c %u%a /etc/hostname)" != 0644 ]'
  danger control-group 'rmdir /sys/fs/cgroup/evil' \
    'mkdir /sys/fs/cgroup/evil' \
    '[ -d /sys/fs/cgroup/evil ]'
  danger process 'victim_lives || restart_victim' \
    'kill -9 "$1"; sleep 0.2' \
    '! victim_lives'
  danger namespaces-of-init 'rm -f /etc/entered' \
    'nsenter --target 1 --all touch /etc/entered' \
    '[ -e /etc/entered ]'
  danger root-of-init 'rm -f /etc/reached' \
    'chroot /proc/1/root touch /etc/reached || touch /proc/1/root/etc/reached' \
    '[ -e /etc/reached ]'
  danger policy-of-apparmor 'apparmor_parser -R /tmp/evil; echo "profile evil { file, }" >/tmp/evil' \
    'echo "profile evil { file, }" | apparmor_parser -a' \
    'grep -q "^evil " /sys/kernel/security/apparmor/profiles'
}

restart_victim() {
  sleep 100000 >/dev/null 2>&1 &
  echo $! >/tmp/victim
}

victim_lives() { grep -q 'State:.[^Z]' "/proc/$(cat /tmp/victim)/status"; }
