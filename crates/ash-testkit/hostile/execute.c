/* Getting code to run with more rights, or without a file. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void copy_self(int to) {
    static char buffer[1 << 16];
    ssize_t got;
    int from = (int)must("open own program", open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    while ((got = read(from, buffer, sizeof buffer)) > 0) must("write the copy", write(to, buffer, (size_t)got));
    close(from);
}

static _Noreturn void judge(const char *what, pid_t child) {
    int status;
    must("waitpid", waitpid(child, &status, 0));
    if (!WIFEXITED(status)) broken("%s: died by signal %d", what, WTERMSIG(status));
    if (WEXITSTATUS(status) >= 128) refused(WEXITSTATUS(status) - 128, "%s", what);
    if (WEXITSTATUS(status)) broken("%s: exit %d", what, WEXITSTATUS(status));
    reached("%s", what);
}

static void f35_exec_from_results(void) {
    const char *path = under("results", "payload");
    int fd = (int)must("create results/payload", open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
    copy_self(fd);
    close(fd);
    pid_t child = fork();
    must("fork", child);
    if (!child) {
        must("silence", dup2(open("/dev/null", O_WRONLY), 1));
        execl(path, path, "list", (char *)NULL);
        _exit(128 + errno);
    }
    judge("exec results/payload", child);
}

static void f48_memfd_exec(void) {
    int fd = (int)try_("memfd_create", memfd_create("payload", 0));
    copy_self(fd);
    pid_t child = fork();
    must("fork", child);
    if (!child) {
        char *arguments[] = { "payload", "list", NULL }, *environment[] = { NULL };
        must("silence", dup2(open("/dev/null", O_WRONLY), 1));
        fexecve(fd, arguments, environment);
        _exit(128 + errno);
    }
    judge("fexecve of a memfd", child);
}

/* The effective capabilities of a process, or 0. */
static unsigned long long capabilities(pid_t process) {
    char path[64], line[256];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "CapEff: %llx", &mask);
    if (status) fclose(status);
    return mask;
}

/* `su` waits for a password on a pipe that stays open; meanwhile its capabilities are looked at. */
static void f47_setuid_helper(void) {
    static const char *const helpers[] = { "/bin/su", "/usr/bin/su", "/usr/bin/passwd", "/usr/bin/newgrp" };
    const char *helper = NULL;
    struct stat found;
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers && !helper; i++)
        if (!stat(helpers[i], &found) && found.st_mode & S_ISUID) helper = helpers[i];
    if (!helper) refused(ENOENT, "no setuid helper here");
    int keyboard[2];
    must("pipe", pipe(keyboard));
    pid_t child = fork();
    must("fork", child);
    if (!child) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(keyboard[0], 0);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        close(keyboard[1]);
        execl(helper, helper, geteuid() ? (char *)NULL : "--help", (char *)NULL);
        _exit(1);
    }
    unsigned long long most = geteuid() ? 0 : capabilities(getpid());
    for (int i = 0; i < 40 && !most; i++) {
        pause_ms(10);
        most = capabilities(child);
    }
    kill(child, SIGKILL);
    close(keyboard[1]);
    waitpid(child, NULL, 0);
    if (!most) refused(EPERM, "%s gained no capability", helper);
    reached("%s runs with capabilities %llx", helper, most);
}

const struct attack exec_attacks[] = {
    { "F35", f35_exec_from_results },
    { "F47", f47_setuid_helper },
    { "F48", f48_memfd_exec },
    { 0 },
};
