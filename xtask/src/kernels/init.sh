#!/bin/busybox sh
# The first program of a virtual machine: finds its disks and hands over to Debian.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for name in @MODULES@; do
  [ -f "/modules/$name.ko" ] && insmod "/modules/$name.ko"
done
word() { tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"; }
tries=0
while ! { [ -b /dev/vda ] && [ -b /dev/vdb ]; } && [ "$tries" -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
mount -t ext4 /dev/vda /root || { echo '@@ no root disk'; poweroff -f; }
programs=$(word ash.programs)
mkdir -p "/root$programs" /root/opt/modules
mount -t ext4 -o ro /dev/vdb "/root$programs" || { echo '@@ no disk with programs'; poweroff -f; }
cp /modules/*.ko /root/opt/modules/
for fs in proc sys dev; do mount -o move "/$fs" "/root/$fs"; done
mkdir -p /root/dev/shm /root/dev/pts /root/dev/mqueue
mount -t tmpfs -o nosuid,nodev tmpfs /root/dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /root/dev/pts
mount -t mqueue mqueue /root/dev/mqueue
mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs /root/run
mount -t securityfs securityfs /root/sys/kernel/security
mount -t cgroup2 cgroup2 /root/sys/fs/cgroup
ln -s /proc/self/fd /root/dev/fd
for stream in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${stream%:*}" "/root/dev/${stream#*:}"; done
chmod 1777 /root/tmp /root/dev/shm
ifconfig lo 127.0.0.1 up
exec switch_root /root /bin/sh "$programs/guest.sh"
