/* Eating what the machine has: processes, memory, disk, inodes, handles. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIB (1LL << 30)

/* One more than the documented limit of 4096 would allow, with room for what else the sandbox runs. */
static void r01_processes(void) {
    long wanted = strtol(param_or("processes", "4200"), NULL, 10), made = 0;
    int error = 0;
    pid_t parent = getpid();
    /* The end kills this group: it must not be the test's. A session leader has a group of its own already. */
    setpgid(0, 0);
    if (getpgrp() != parent) broken("no process group of its own");
    for (; made < wanted && !error; made++) {
        pid_t child = fork();
        if (child < 0) error = errno;
        else if (!child) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) _exit(0);
            for (;;) pause();
        }
    }
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    while (waitpid(-1, NULL, 0) > 0) {}
    if (error) refused(error, "fork number %ld", made);
    reached("%ld processes at once", made);
}

static void r02_memory(void) {
    size_t size = 3 * GIB;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) refused(errno, "mmap of 3 GiB");
    for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
    reached("touched 3 GiB");
}

/* Allocates space in steps, so that the first refusal shows. */
static _Noreturn void fill(const char *path, long long size) {
    static char block[1 << 20];
    int fd = (int)try_(path, open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    unlink(path);
    signal(SIGXFSZ, SIG_IGN);
    for (long long at = 0; at < size; at += 64 << 20) {
        if (!fallocate(fd, 0, at, 64 << 20)) continue;
        if (errno != EOPNOTSUPP) refused(errno, "after %lld MiB", at >> 20);
        for (long long in = 0; in < 64; in++) try_("pwrite", pwrite(fd, block, sizeof block, at + (in << 20)));
    }
    reached("%lld MiB", size >> 20);
}

static void r03_fill_tmp(void) {
    char path[256];
    snprintf(path, sizeof path, "/tmp/%s", param("unique"));
    fill(path, 2 * GIB + (256 << 20));
}

static void r04_large_file(void) {
    signal(SIGXFSZ, SIG_IGN);
    int fd = (int)must("create", open(under("results", "large.json"), O_WRONLY | O_CREAT, 0644));
    try_("pwrite beyond 4 GiB", pwrite(fd, "x", 1, 4 * GIB + 4096));
    reached("a file of more than 4 GiB");
}

static void r06_many_files(void) {
    char path[4096];
    for (int i = 0; i < 50000; i++) {
        snprintf(path, sizeof path, "%s/%d", param("results"), i);
        int fd = open(path, O_WRONLY | O_CREAT, 0644);
        try_("create", fd);
        close(fd);
    }
    reached("50000 files");
}

static _Noreturn void descend(int levels) {
    must("chdir", chdir(param("results")));
    for (int i = 0; i < levels; i++) {
        try_("mkdir", mkdir("d", 0755));
        try_("chdir", chdir("d"));
    }
    try_("symlink at the bottom", symlink("/etc/passwd", "l"));
    reached("%d levels", levels);
}

static void r07_deep_tree(void) { descend(3000); }

static void r08_core_dump(void) {
    struct rlimit limit;
    int status;
    must("getrlimit", getrlimit(RLIMIT_CORE, &limit));
    limit.rlim_cur = limit.rlim_max;
    must("setrlimit", setrlimit(RLIMIT_CORE, &limit));
    if (!limit.rlim_max && !param_or("sandboxed", NULL)) absent("the hard limit on core files is 0 here");
    must("chdir", chdir(param("results")));
    pid_t child = fork();
    must("fork", child);
    if (!child) abort();
    must("waitpid", waitpid(child, &status, 0));
    if (WCOREDUMP(status)) reached("dumped core");
    if (!param_or("sandboxed", NULL)) absent("this machine does not write core files");
    refused(EPERM, "no core file");
}

/* A bomb that stops itself: a shared counter ends it. */
static void d01_fork_bomb(void) {
    long wanted = strtol(param_or("processes", "4200"), NULL, 10);
    struct shared { long made, failed; int error; } *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) broken("mmap");
    pid_t root = fork();
    must("fork", root);
    if (!root) {
        setpgid(0, 0);
        while (__atomic_load_n(&shared->made, __ATOMIC_SEQ_CST) < wanted && !shared->failed)
            switch (fork()) {
            case -1:
                shared->error = errno;
                __atomic_fetch_add(&shared->failed, 1, __ATOMIC_SEQ_CST);
                break;
            case 0: break; /* Its parent counts it. */
            default: __atomic_fetch_add(&shared->made, 1, __ATOMIC_SEQ_CST);
            }
        for (;;) pause();
    }
    for (int i = 0; i < 6000 && !shared->failed && shared->made < wanted; i++) pause_ms(10);
    long failed = shared->failed, made = shared->made;
    for (int i = 0; i < 20; i++) {
        kill(-root, SIGKILL);
        pause_ms(10);
    }
    while (waitpid(-1, NULL, 0) > 0) {}
    if (failed) refused(shared->error, "after %ld forks", made);
    if (made < wanted) broken("the bomb is too slow");
    reached("%ld forks", made);
}

/* The private home holds 512 MiB. */
static void d03_fill_home(void) {
    const char *home = getenv("HOME");
    char path[4096];
    if (!home) broken("no HOME");
    snprintf(path, sizeof path, "%s/filler", home);
    fill(path, 768 << 20);
}

static void d04_handles(void) {
    int made = 0;
    for (; made < 32; made++) try_("inotify_init", inotify_init1(IN_CLOEXEC));
    reached("%d inotify instances", made);
}

const struct attack resource_attacks[] = {
    { "R01", r01_processes },
    { "R02", r02_memory },
    { "R03", r03_fill_tmp },
    { "R04", r04_large_file },
    { "R06", r06_many_files },
    { "R07", r07_deep_tree },
    { "R08", r08_core_dump },
    { "D01", d01_fork_bomb },
    { "D03", d03_fill_home },
    { "D04", d04_handles },
    { 0 },
};
