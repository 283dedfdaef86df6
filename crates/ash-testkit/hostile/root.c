/* What only uid 0 could do. Each attempt is harmless when it succeeds: values are written back as they were. */
#define _GNU_SOURCE
#include "hostile.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CORE_PATTERN "/proc/sys/kernel/core_pattern"

static _Noreturn void write_back(const char *path) {
    char value[4096];
    int from = (int)try_("open for reading", open(path, O_RDONLY));
    ssize_t size = read(from, value, sizeof value);
    must("read", size);
    int to = (int)try_("open for writing", open(path, O_WRONLY));
    try_("write", write(to, value, (size_t)size));
    reached("wrote %s", path);
}

static void f45_core_pattern(void) { write_back(CORE_PATTERN); }

/* As F45, with every other way in that a private procfs could leave: sysrq is opened, never written. */
static void u01_kernel_settings(void) {
    int error = 0;
    if (open("/proc/sysrq-trigger", O_WRONLY) >= 0) reached("opened /proc/sysrq-trigger for writing");
    error = errno;
    if (access(CORE_PATTERN, F_OK)) refused(error, "no %s", CORE_PATTERN);
    write_back(CORE_PATTERN);
}

static void u02_host_secrets(void) {
    static const char *const files[] = {
        "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/ssh/ssh_host_rsa_key",
        "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ecdsa_key", "/root/.bashrc", "/root/.profile",
    };
    char byte;
    int error = ENOENT;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int fd = open(files[i], O_RDONLY);
        if (fd >= 0 && read(fd, &byte, 1) > 0) reached("read %s", files[i]);
        if (fd < 0 && (errno != ENOENT || error == ENOENT)) error = errno;
    }
    refused(error, "shadow, host keys and root's home");
}

static void u03_host_name(void) {
    struct utsname name;
    must("uname", uname(&name));
    try_("sethostname", sethostname(name.nodename, strlen(name.nodename)));
    reached("set the host name");
}

static void u04_metadata_of_readable_file(void) {
    const char *path = under("mounted", "hostname");
    struct stat before, after;
    must("stat", stat(path, &before));
    int mode = chmod(path, 0666), error = errno, owner = chown(path, 12345, 12345);
    if (mode && owner) refused(error, "chmod and chown");
    must("stat", stat(path, &after));
    if (before.st_mode == after.st_mode && before.st_uid == after.st_uid) refused(INERT, "nothing changed");
    reached("changed mode or owner of %s", path);
}

/* Opens, never writes. */
static void u06_cgroup(void) {
    char path[512];
    int error = ENOENT;
    static const char *const fixed[] = { "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/release_agent", "/sys/kernel/uevent_helper" };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (open(fixed[i], O_WRONLY) >= 0) reached("opened %s for writing", fixed[i]);
        if (errno != ENOENT) error = errno;
    }
    DIR *groups = opendir("/sys/fs/cgroup");
    for (struct dirent *entry; groups && (entry = readdir(groups));) {
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/release_agent", entry->d_name);
        if (open(path, O_WRONLY) >= 0) reached("opened %s for writing", path);
        if (errno != ENOENT) error = errno;
    }
    refused(error, "release_agent and cgroup.procs");
}

/* Opens for writing, without truncating, and stops at the first that lets it. What belongs to its own process is no control file. */
static void open_controls(const char *directory, int depth, int *error) {
    DIR *entries = opendir(directory);
    if (!entries) {
        if (errno == EACCES || errno == EPERM) *error = errno;
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[4096];
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || entry->d_type == DT_LNK) continue;
        if (depth == 0 && strspn(name, "0123456789") == strlen(name)) continue;
        snprintf(path, sizeof path, "%s/%s", directory, name);
        if (entry->d_type == DT_DIR) {
            if (depth < 8) open_controls(path, depth + 1, error);
        } else if (open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) >= 0) {
            reached("opened %s for writing", path);
        } else if (errno == EACCES || errno == EPERM || errno == EROFS) {
            *error = errno;
        }
    }
    closedir(entries);
}

/* Not by name, as U01 and U06, but by looking: whatever the kernel of today has. */
static void u07_any_control(void) {
    int error = ENOENT;
    open_controls("/proc", 0, &error);
    open_controls("/sys", 1, &error);
    refused(error, "every file below /proc and /sys");
}

const struct attack root_attacks[] = {
    { "F45", f45_core_pattern },
    { "U01", u01_kernel_settings },
    { "U02", u02_host_secrets },
    { "U03", u03_host_name },
    { "U04", u04_metadata_of_readable_file },
    { "U06", u06_cgroup },
    { "U07", u07_any_control },
    { 0 },
};
