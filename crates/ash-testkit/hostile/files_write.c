/* Changing what must stay as it is: the home, the scanned tree, other scanners' results, metadata. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MARK "written by the hostile scanner\n"

static _Noreturn void overwrite(const char *path) {
    make_parents(path);
    try_(path, put(path, MARK));
    reached("wrote %s", path);
}

static _Noreturn void append(const char *path) {
    int fd = (int)try_(path, open(path, O_WRONLY | O_APPEND | O_CREAT, 0644));
    try_(path, write(fd, MARK, strlen(MARK)));
    reached("appended to %s", path);
}

static void f08_inherited_file(void) {
    try_("write(8)", write((int)number("filefd"), MARK, strlen(MARK)));
    reached("wrote to descriptor 8");
}

static void f11_create_in_home(void) { overwrite(under("home", "created.txt")); }
static void f12_append_to_bashrc(void) { append(under("home", ".bashrc")); }
static void f13_modify_source(void) { append(under("source", "main.py")); }
static void f14_plant_git_hook(void) { overwrite(under("source", ".git/hooks/post-checkout")); }
static void f15_other_scanners_results(void) { overwrite(under("output", "scanners/other/source/other.sarif")); }
static void f16_aggregated_report(void) { overwrite(under("output", "ash_aggregated_results.json")); }

static _Noreturn void write_through_hard_link(const char *victim) {
    const char *link_name = under("results", "hard-link");
    try_("link", link(victim, link_name));
    int fd = (int)try_("open the link", open(link_name, O_WRONLY | O_APPEND));
    try_("write", write(fd, MARK, strlen(MARK)));
    reached("wrote through a hard link to %s", victim);
}

static void f17_hard_link_outside(void) { write_through_hard_link(under("home", "outside.txt")); }
static void f18_hard_link_source(void) { write_through_hard_link(under("source", "main.py")); }

static mode_t mode_of(const char *path) {
    struct stat found;
    return stat(path, &found) ? 0 : found.st_mode & 07777;
}

static _Noreturn void change_mode(const char *path, mode_t mode) {
    try_("chmod", chmod(path, mode));
    if (mode_of(path) != mode) refused(INERT, "chmod %s returned 0 and changed nothing", path);
    reached("chmod %o %s", mode, path);
}

static void f20_chmod_source(void) { change_mode(under("source", "main.py"), 0666); }
static void f21_chmod_private_key(void) { change_mode(under("home", ".ssh/id_rsa"), 0644); }

static void f22_set_times(void) {
    const char *path = under("source", "main.py");
    const struct timespec times[2] = { { 1000000, 0 }, { 1000000, 0 } };
    struct stat found;
    try_("utimensat", utimensat(AT_FDCWD, path, times, 0));
    if (stat(path, &found) || found.st_mtime != 1000000) refused(INERT, "utimensat changed nothing");
    reached("set the times of %s", path);
}

/* A read-only descriptor is enough for these on a file of one's own. */
static void f19_extended_attribute(void) {
    const char *path = under("source", "main.py");
    char value[16] = "";
    int fd = (int)must("open", open(path, O_RDONLY));
    int by_path = setxattr(path, "user.hostile", "x", 1, 0), error = errno;
    int by_descriptor = fsetxattr(fd, "user.hostile2", "x", 1, 0);
    if (by_path && by_descriptor) {
        if (error == EOPNOTSUPP && !param_or("sandboxed", NULL)) absent("this file system has no user attributes");
        refused(error, "setxattr and fsetxattr");
    }
    if (getxattr(path, "user.hostile", value, sizeof value) < 0 && getxattr(path, "user.hostile2", value, sizeof value) < 0)
        refused(INERT, "setxattr changed nothing");
    reached("set an extended attribute");
}

/* The nodump flag: harmless, and as good a proof as immutable. Linux 6.17 has a second way, by path. */
static void f23_inode_flags(void) {
    const char *path = under("source", "main.py");
    int before = 0, after = 0, fd = (int)must("open", open(path, O_RDONLY));
    if (ioctl(fd, FS_IOC_GETFLAGS, &before)) {
        if (!param_or("sandboxed", NULL)) absent("this file system has no inode flags");
        refused(errno, "FS_IOC_GETFLAGS");
    }
    int wanted = before ^ FS_NODUMP_FL, done = ioctl(fd, FS_IOC_SETFLAGS, &wanted), error = errno;
    if (ioctl(fd, FS_IOC_GETFLAGS, &after) || after != wanted) {
        struct { unsigned long long flags; unsigned extent, next, project, cow; } by_path = { FS_XFLAG_NODUMP, 0, 0, 0, 0 };
        done &= (int)syscall(469 /* file_setattr */, AT_FDCWD, path, &by_path, sizeof by_path, 0);
    }
    if (ioctl(fd, FS_IOC_GETFLAGS, &after) || after == before) refused(done ? error : INERT, "FS_IOC_SETFLAGS and file_setattr");
    reached("changed the inode flags");
}

static void f26_truncate(void) {
    try_("truncate", truncate(under("home", "outside.txt"), 0));
    reached("emptied ~/outside.txt");
}

static void f37_file_in_tmp(void) {
    char path[4096] = "/tmp/";
    strncat(path, param("unique"), sizeof path - strlen(path) - 1);
    overwrite(path);
}

static void f38_file_in_dev_shm(void) {
    char path[4096] = "/dev/shm/";
    strncat(path, param("unique"), sizeof path - strlen(path) - 1);
    overwrite(path);
}

static void f39_systemd_user_unit(void) { overwrite(under("home", ".config/systemd/user/persist.service")); }
static void f40_poison_uv_cache(void) { append(under("home", ".cache/uv/wheels/module.py")); }
static void f41_fake_git_on_path(void) { overwrite(under("home", ".local/bin/git")); }

const struct attack write_attacks[] = {
    { "F08", f08_inherited_file },
    { "F11", f11_create_in_home },
    { "F12", f12_append_to_bashrc },
    { "F13", f13_modify_source },
    { "F14", f14_plant_git_hook },
    { "F15", f15_other_scanners_results },
    { "F16", f16_aggregated_report },
    { "F17", f17_hard_link_outside },
    { "F18", f18_hard_link_source },
    { "F19", f19_extended_attribute },
    { "F20", f20_chmod_source },
    { "F21", f21_chmod_private_key },
    { "F22", f22_set_times },
    { "F23", f23_inode_flags },
    { "F26", f26_truncate },
    { "F37", f37_file_in_tmp },
    { "F38", f38_file_in_dev_shm },
    { "F39", f39_systemd_user_unit },
    { "F40", f40_poison_uv_cache },
    { "F41", f41_fake_git_on_path },
    { 0 },
};

/* Changes a file that is there and makes none: what any other name of it leads to changes too. */
static int write_in_place(const char *path) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t wrote = write(fd, MARK, strlen(MARK));
    int error = errno;
    close(fd);
    errno = error;
    return wrote < 0 ? -1 : 0;
}

/* What uv installs has two names, one in its cache and one in a tool's environment. */
static void k01_cached_module(void) {
    const char *const names[] = { under("home", ".cache/uv/wheels/module.py"), under("home", ".local/share/uv/tools/probe/module.py") };
    int error = 0, done = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        must(names[i], access(names[i], R_OK));
        if (write_in_place(names[i])) error = errno;
        else done++;
    }
    if (!done) refused(error, "the module by both its names");
    reached("changed the module by %d of its names", done);
}

/* In place, by another file of the same name, beside it, and away with it: each alone would make a later scan believe the attacker. */
static void k02_vulnerability_data(void) {
    const char *const files[] = { under("home", ".cache/grype/db/6/vulnerability.db"), under("home", ".cache/trivy/policy/content/docker.rego") };
    int error = 0, done = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *beside;
        must(files[i], access(files[i], R_OK));
        if (asprintf(&beside, "%s.new", files[i]) < 0) broken("out of memory");
        if (write_in_place(files[i])) error = errno; else done++;
        if (put(beside, MARK) || rename(beside, files[i])) error = errno; else done++;
        if (put(beside, MARK)) error = errno; else done++;
        if (unlink(files[i])) error = errno; else done++;
    }
    if (!done) refused(error, "the database and the checks");
    reached("%d changes to the database and the checks", done);
}

static void k03_tool_settings(void) {
    const char *settings = under("home", ".cache/semgrep/settings.yml");
    make_parents(settings);
    if (!put(settings, "api_token: attacker\n")) reached("wrote %s", settings);
    overwrite(under("home", ".config/configstore/attacker.json"));
}

static void k04_trusted_temporary_name(void) {
    char path[4096];
    static const char *const directories[] = { "/tmp/jsii-", "/var/tmp/uv-" };
    int error = 0;
    for (int i = 0; i < 2; i++) {
        strcpy(path, directories[i]);
        strncat(path, param("unique"), sizeof path - strlen(path) - 1);
        if (!put(path, MARK)) error = -1;
        else if (error >= 0) error = errno;
    }
    if (error >= 0) refused(error, "%s", path);
    reached("left a name in a shared temporary directory");
}

/* Everything that a later login, commit, editor or clone would run. */
static void k05_autostart_places(void) {
    const char *const places[] = {
        under("home", ".profile"), under("home", ".zshenv"), under("home", ".config/git/template/hooks/pre-commit"),
        under("home", ".config/systemd/user/persist.timer"), under("source", ".vscode/tasks.json"),
        under("source", ".pre-commit-config.yaml"), under("source", ".git/hooks/pre-commit"), under("source", ".envrc"),
    };
    int error = 0, done = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        make_parents(places[i]);
        if (put(places[i], MARK)) error = errno;
        else done++;
    }
    if (!done) refused(error, "every autostart place");
    reached("%d autostart places", done);
}

/* The next run would start it, or the tool itself would. */
static void k10_beside_own_program(void) {
    char own[4096], *path;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    must("readlink /proc/self/exe", length);
    own[length] = '\0';
    char *slash = strrchr(own, '/');
    if (!slash) broken("no directory in %s", own);
    *slash = '\0';
    if (asprintf(&path, "%s/git-lfs", own) < 0) broken("out of memory");
    try_("create a program", put(path, MARK));
    reached("planted %s", path);
}

const struct attack persist_attacks[] = {
    { "K01", k01_cached_module },
    { "K02", k02_vulnerability_data },
    { "K03", k03_tool_settings },
    { "K04", k04_trusted_temporary_name },
    { "K05", k05_autostart_places },
    { "K10", k10_beside_own_program },
    { 0 },
};
