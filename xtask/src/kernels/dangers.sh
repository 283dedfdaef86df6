# What root could do to the whole machine, and only in a machine that is thrown away afterwards. Each is tried without a sandbox,
# where it has to work, and then in each backend, where its effect must not show outside.

# danger NAME PREPARE ATTEMPT CHECK: PREPARE brings back the state in which CHECK (does the effect show?) fails.
danger() {
  for cell in off $(echo "$required" | tr ',' ' '); do
    ( eval "$2" ) >/dev/null 2>&1
    if ( eval "$4" ) >/dev/null 2>&1; then echo "@danger $1 $cell void"; continue; fi
    said=$(as root timeout 60 "$ASH" sandbox run --sandbox "$cell" --offline --source-dir /srv/source --results-dir /srv/results --read /opt/modules -- \
      sh -c "echo STARTED; $3" sh "$(cat /tmp/victim)" 2>&1)
    case $said in
      *STARTED*) if ( eval "$4" ) >/dev/null 2>&1; then echo "@danger $1 $cell reached"; else echo "@danger $1 $cell refused"; fi ;;
      *) echo "@danger $1 $cell not-started" ;;
    esac
    printf '%s\n' "$said" | sed 's/^/  /'
    ( eval "$2" ) >/dev/null 2>&1
  done
}

dangers() {
  mkdir -p /srv/source /srv/results
  restart_victim
  danger core-pattern 'echo core >/proc/sys/kernel/core_pattern' \
    'echo "|/tmp/pwned %p" >/proc/sys/kernel/core_pattern' \
    'grep -q pwned /proc/sys/kernel/core_pattern'
  danger address-layout 'echo 2 >/proc/sys/kernel/randomize_va_space' \
    'echo 0 >/proc/sys/kernel/randomize_va_space' \
    'grep -q 0 /proc/sys/kernel/randomize_va_space'
  danger sysrq 'dmesg --clear' \
    'echo s >/proc/sysrq-trigger; sleep 0.2' \
    'dmesg | grep -q "sysrq: Emergency Sync"'
  danger kernel-log 'echo remember >/dev/kmsg' \
    'dmesg --clear' \
    '! dmesg | grep -q remember'
  danger forged-kernel-log 'dmesg --clear' \
    'echo forged >/dev/kmsg' \
    'dmesg | grep -q forged'
  danger host-name 'hostname lab' \
    'hostname pwned' \
    '[ "$(hostname)" = pwned ]'
  danger mount 'umount /mnt' \
    'mount -t tmpfs none /mnt' \
    'grep -q " /mnt tmpfs " /proc/mounts'
  danger bind-mount 'umount /srv/source' \
    'mount --bind /etc /srv/source' \
    '[ -e /srv/source/passwd ]'
  danger module 'rmmod dummy' \
    'insmod /opt/modules/dummy.ko' \
    'grep -q "^dummy " /proc/modules'
  danger clock 'date -s 2030-01-01' \
    'date -s 2001-01-01' \
    '[ "$(date +%Y)" = 2001 ]'
  danger raw-disk 'rm -f /srv/results/*' \
    'head -c 4096 /dev/vda >/srv/results/sectors' \
    '[ -s /srv/results/sectors ]'
  danger made-disk 'rm -f /srv/results/*' \
    'mknod /srv/results/disk b $(printf "%d %d" $(stat -c "0x%t 0x%T" /dev/vda)) || mknod /srv/results/disk b 254 0; head -c 4096 /srv/results/disk >/srv/results/sectors' \
    '[ -s /srv/results/sectors ]'
  danger password-hashes 'rm -f /srv/results/*' \
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
  danger root-of-init 'rm -f /etc/entered' \
    'chroot /proc/1/root touch /etc/entered || touch /proc/1/root/etc/entered' \
    '[ -e /etc/entered ]'
  danger policy-of-apparmor 'apparmor_parser -R /tmp/evil; echo "profile evil { file, }" >/tmp/evil' \
    'echo "profile evil { file, }" | apparmor_parser -a' \
    'grep -q "^evil " /sys/kernel/security/apparmor/profiles'
  kill -9 "$(cat /tmp/victim)"
}

restart_victim() {
  sleep 100000 >/dev/null 2>&1 &
  echo $! >/tmp/victim
}

victim_lives() { grep -q 'State:.[^Z]' "/proc/$(cat /tmp/victim)/status"; }
