/* Nested namespaces: the way back to capabilities and to the kernel's less tried code. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void s01_user_namespace(void) {
    try_("unshare(CLONE_NEWUSER)", unshare(CLONE_NEWUSER));
    reached("entered a new user namespace");
}

static void s02_mount_tmpfs(void) {
    try_("unshare(CLONE_NEWUSER|CLONE_NEWNS)", unshare(CLONE_NEWUSER | CLONE_NEWNS));
    try_("mount", mount("none", param("results"), "tmpfs", 0, NULL));
    reached("mounted a tmpfs");
}

static void s03_remount_source(void) {
    try_("unshare(CLONE_NEWUSER|CLONE_NEWNS)", unshare(CLONE_NEWUSER | CLONE_NEWNS));
    try_("remount read-write", mount("none", param("source"), NULL, MS_REMOUNT | MS_BIND, NULL));
    try_("write", put(under("source", "main.py"), "owned\n"));
    reached("wrote to the source after a remount");
}

static void s04_uncover_home(void) {
    try_("unshare(CLONE_NEWUSER|CLONE_NEWNS)", unshare(CLONE_NEWUSER | CLONE_NEWNS));
    try_("umount", umount2(param("home"), MNT_DETACH));
    int fd = (int)try_("open ~/.ssh/id_rsa", open(under("home", ".ssh/id_rsa"), O_RDONLY));
    if (!contains(fd, param("secret"))) refused(ENODATA, "something else is there");
    reached("uncovered the home");
}

static void s05_fresh_proc(void) {
    int status;
    try_("unshare(CLONE_NEWUSER|CLONE_NEWNS|CLONE_NEWPID)", unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID));
    pid_t child = fork();
    try_("fork", child);
    if (!child) _exit(mount("proc", param("results"), "proc", 0, NULL) ? errno : 0);
    must("waitpid", waitpid(child, &status, 0));
    if (!WIFEXITED(status)) broken("the child died");
    if (WEXITSTATUS(status)) refused(WEXITSTATUS(status), "mount proc");
    reached("mounted a fresh procfs");
}

static void s06_clone3(void) {
    struct clone_args arguments = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
    long child = syscall(SYS_clone3, &arguments, sizeof arguments);
    try_("clone3(CLONE_NEWUSER)", child);
    if (!child) _exit(0);
    waitpid((pid_t)child, NULL, 0);
    reached("made a user namespace with clone3");
}

static void s07_open_tree(void) {
    try_("open_tree(OPEN_TREE_CLONE)", syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
    reached("cloned a mount tree");
}

static void s08_fsopen(void) {
    int context = (int)try_("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    try_("fsconfig", syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0));
    try_("fsmount", syscall(SYS_fsmount, context, 0, 0));
    reached("made a mount with the new interface");
}

static void s09_chroot(void) {
    int inside = unshare(CLONE_NEWUSER);
    int error = errno;
    if (!chroot(param("results"))) reached("changed the root directory");
    refused(inside ? error : errno, "chroot");
}

const struct attack namespace_attacks[] = {
    { "S01", s01_user_namespace },
    { "S02", s02_mount_tmpfs },
    { "S03", s03_remount_source },
    { "S04", s04_uncover_home },
    { "S05", s05_fresh_proc },
    { "S06", s06_clone3 },
    { "S07", s07_open_tree },
    { "S08", s08_fsopen },
    { "S09", s09_chroot },
    { 0 },
};
