/* Reading what is none of a scanner's business: the user's secrets, by path, by link, by handle, by inherited descriptor. */
#define _GNU_SOURCE
#include "hostile.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <unistd.h>

/* The planted private key, read through whatever descriptor the attack got. */
static _Noreturn void read_secret(const char *what, int fd) {
    try_(what, fd);
    if (!contains(fd, param("secret"))) refused(ENODATA, "%s opened, but holds something else", what);
    reached("%s", what);
}

static void f01_private_key_by_path(void) {
    read_secret("open ~/.ssh/id_rsa", open(under("home", ".ssh/id_rsa"), O_RDONLY));
}

static void f02_through_own_symlink(void) {
    const char *link = under("results", "l");
    must("symlink in results", symlink(under("home", ".aws/credentials"), link));
    read_secret("open results/l -> ~/.aws/credentials", open(link, O_RDONLY));
}

static void f03_through_proc_self_root(void) {
    char path[4096] = "/proc/self/root";
    strncat(path, under("home", ".ssh/id_rsa"), sizeof path - strlen(path) - 1);
    read_secret("open /proc/self/root/...", open(path, O_RDONLY));
}

/* The victim has the key open and lives in the host's root. */
static void f04_through_another_process(void) {
    static const char *const ways[] = { "root", "fd/", "cwd/" };
    const char *const tails[] = { under("home", ".ssh/id_rsa"), param("victim-fd"), "home/.ssh/id_rsa" };
    int error = ENOENT;
    for (int i = 0; i < 3; i++) {
        char tail[4096], path[8192];
        snprintf(tail, sizeof tail, "%s%s", ways[i], tails[i]);
        snprintf(path, sizeof path, "/proc/%s/%s", param("victim"), tail);
        int fd = open(path, O_RDONLY);
        if (fd < 0) error = errno;
        else if (contains(fd, param("secret"))) reached("%s", path);
    }
    refused(error, "root, fd and cwd of another process");
}

static void f07_inherited_directory(void) {
    read_secret("openat(9, .ssh/id_rsa)", openat((int)number("dirfd"), ".ssh/id_rsa", O_RDONLY));
}

static void f10_leave_through_inherited_directory(void) {
    try_("fchdir(9)", fchdir((int)number("dirfd")));
    read_secret("open ../beside.txt", open("../beside.txt", O_RDONLY));
}

static void f24_stat_private_key(void) {
    struct stat found;
    try_("stat ~/.ssh/id_rsa", stat(under("home", ".ssh/id_rsa"), &found));
    reached("size %ld", (long)found.st_size);
}

static void f28_chdir_probe(void) {
    try_("chdir ~/.ssh", chdir(under("home", ".ssh")));
    reached("chdir");
}

static void f43_kernel_log(void) {
    char buffer[4096];
    try_("syslog(SYSLOG_ACTION_READ_ALL)", klogctl(3, buffer, sizeof buffer));
    reached("kernel log");
}

static void f51_open_by_handle(void) {
    struct { struct file_handle handle; unsigned char room[128]; } with_room;
    int mount_id;
    const char *known = under("source", "main.py");
    with_room.handle.handle_bytes = sizeof with_room.room;
    int named = name_to_handle_at(AT_FDCWD, known, &with_room.handle, &mount_id, 0);
    if (named < 0 && errno == EOPNOTSUPP) absent("this file system has no handles");
    try_("name_to_handle_at", named);
    int mount = open(param("source"), O_RDONLY | O_DIRECTORY);
    must("open the source directory", mount);
    try_("open_by_handle_at", open_by_handle_at(mount, &with_room.handle, O_RDONLY));
    reached("opened by handle");
}

/* What every program may use, what it makes itself, and what is disturbed by being opened. */
static int is_usual_device(const char *name) {
    static const char *const usual[] = { "null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "console", "snapshot" };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(name, usual[i])) return 1;
    return !strncmp(name, "watchdog", 8) || !strncmp(name, "st", 2) || !strncmp(name, "nst", 3);
}

static void open_devices(const char *directory, int depth, int *error) {
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[4096];
        if (entry->d_name[0] == '.' || entry->d_type == DT_LNK || (depth == 0 && is_usual_device(entry->d_name))) continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (entry->d_type == DT_DIR && depth < 4) open_devices(path, depth + 1, error);
        if (entry->d_type != DT_CHR && entry->d_type != DT_BLK) continue;
        if (open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY) >= 0) reached("opened %s", path);
        if (errno == EACCES || errno == EPERM) *error = errno;
    }
    if (entries) closedir(entries);
}

/* Graphics, sound, cameras, tunnels, virtual machines, FUSE, disks: whatever this machine lets its user open. */
static void f54_any_device(void) {
    int error = ENOENT;
    open_devices("/dev", 0, &error);
    if (!param_or("sandboxed", NULL)) absent("this machine has no device that this user may open");
    refused(error, "every device in /dev");
}

const struct attack read_attacks[] = {
    { "F01", f01_private_key_by_path },
    { "F02", f02_through_own_symlink },
    { "F03", f03_through_proc_self_root },
    { "F04", f04_through_another_process },
    { "F07", f07_inherited_directory },
    { "F10", f10_leave_through_inherited_directory },
    { "F24", f24_stat_private_key },
    { "F28", f28_chdir_probe },
    { "F43", f43_kernel_log },
    { "F51", f51_open_by_handle },
    { "F54", f54_any_device },
    { 0 },
};
