/* Other processes of the user, and the secrets in their environments. */
#define _GNU_SOURCE
#include "hostile.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *of_process(const char *pid, const char *file) {
    char *path;
    if (asprintf(&path, "/proc/%s/%s", pid, file) < 0) broken("out of memory");
    return path;
}

static int is_number(const char *name) {
    return *name && strspn(name, "0123456789") == strlen(name);
}

static pid_t victim(void) { return (pid_t)number("victim"); }

static void p01_see_processes(void) {
    DIR *proc = opendir("/proc");
    if (!proc) refused(errno, "opendir /proc");
    for (struct dirent *entry; (entry = readdir(proc));) {
        if (!is_number(entry->d_name)) continue;
        int fd = open(of_process(entry->d_name, "cmdline"), O_RDONLY);
        if (fd < 0) continue;
        /* Its own command line holds the marker as a parameter; that of the victim starts with its own name. */
        int seen = atoi(entry->d_name) != getpid() && contains(fd, param("victim-name"));
        close(fd);
        if (seen && !contains(open(of_process(entry->d_name, "cmdline"), O_RDONLY), "unique="))
            reached("saw the victim's command line as process %s", entry->d_name);
    }
    refused(ENOENT, "no foreign process is visible");
}

static void p02_environment_of_victim(void) {
    int fd = (int)try_("open /proc/<victim>/environ", open(of_process(param("victim"), "environ"), O_RDONLY));
    if (!contains(fd, param("secret"))) refused(ENODATA, "another process has that number here");
    reached("read the victim's environment");
}

static void p03_ptrace(void) {
    try_("ptrace", ptrace(PTRACE_ATTACH, victim(), 0, 0));
    waitpid(victim(), NULL, __WALL);
    ptrace(PTRACE_DETACH, victim(), 0, 0);
    reached("attached");
}

static void p04_read_memory(void) {
    char buffer[64] = "";
    struct iovec here = { buffer, sizeof buffer - 1 };
    struct iovec there = { (void *)strtoul(param("victim-address"), NULL, 16), sizeof buffer - 1 };
    try_("process_vm_readv", process_vm_readv(victim(), &here, 1, &there, 1, 0));
    if (strcmp(buffer, param("secret"))) refused(ENODATA, "another process has that number here");
    reached("read the victim's memory");
}

static void p05_steal_descriptor(void) {
    int process = (int)try_("pidfd_open", syscall(SYS_pidfd_open, victim(), 0));
    int stolen = (int)try_("pidfd_getfd", syscall(SYS_pidfd_getfd, process, (int)number("victim-fd"), 0));
    lseek(stolen, 0, SEEK_SET);
    if (!contains(stolen, param("secret"))) refused(ENODATA, "another process has that number here");
    reached("read through the victim's descriptor");
}

static void p06_kill_victim(void) {
    try_("kill", kill(victim(), SIGKILL));
    reached("killed the victim");
}

/* The test's shell puts its own process number, which ash then has, into the environment; a control names a stand-in. */
static void p07_kill_ash(void) {
    const char *inherited = getenv("ASH_PROBE_PID");
    const char *target = param_or("ash", inherited);
    if (!target) broken("nobody named the process of ash");
    try_("kill ash", kill((pid_t)atoi(target), SIGKILL));
    reached("killed process %s", target);
}

static void note(char *done, const char *name, long result, int *error) {
    if (result >= 0) strcat(strcat(done, " "), name);
    else if (errno != ENOSYS && errno != EINVAL) *error = errno;
}

/* Every other call that names a process, each with arguments that do no harm. */
static void p08_other_calls(void) {
    char done[512] = "";
    int error = ENOSYS, other = (int)syscall(SYS_pidfd_open, victim(), 0);
    unsigned long mask[16] = { ~0UL };
    struct { unsigned size, policy; unsigned long long flags; int nice; unsigned priority; unsigned long long run, dead, period; }
        schedule = { 48, 0, 0, 1, 0, 0, 0, 0 };
    int parameter = 0;
    siginfo_t information;
    memset(&information, 0, sizeof information);
    information.si_code = SI_QUEUE;
    note(done, "ioprio_set", syscall(SYS_ioprio_set, 1, victim(), 3 << 13), &error);
    note(done, "sched_setaffinity", syscall(SYS_sched_setaffinity, victim(), sizeof mask, mask), &error);
    note(done, "sched_setattr", syscall(SYS_sched_setattr, victim(), &schedule, 0), &error);
    note(done, "sched_setscheduler", syscall(SYS_sched_setscheduler, victim(), 3 /* SCHED_BATCH */, &parameter), &error);
    note(done, "setpriority", syscall(SYS_setpriority, 0, victim(), 2), &error);
    note(done, "kcmp", syscall(SYS_kcmp, getpid(), victim(), 1, 0, 0), &error);
    note(done, "migrate_pages", syscall(SYS_migrate_pages, victim(), 1, mask, mask), &error);
    note(done, "tgkill", syscall(SYS_tgkill, victim(), victim(), SIGCONT), &error);
    note(done, "tkill", syscall(SYS_tkill, victim(), SIGCONT), &error);
    note(done, "rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, victim(), SIGCONT, &information), &error);
    if (other >= 0) note(done, "pidfd_send_signal", syscall(SYS_pidfd_send_signal, other, SIGCONT, NULL, 0), &error);
    if (!*done) refused(error, "every call that names the victim");
    reached("the victim was touched by:%s", done);
}

/* The kernel sends the signal on behalf of whoever asked for it when the pipe has news. */
static void p09_signal_by_descriptor(void) {
    int ends[2];
    struct f_owner_ex owner = { F_OWNER_PID, victim() };
    must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    try_("F_SETOWN_EX", fcntl(ends[0], F_SETOWN_EX, &owner));
    try_("F_SETSIG", fcntl(ends[0], F_SETSIG, SIGKILL));
    try_("O_ASYNC", fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
    must("write", write(ends[1], "x", 1));
    pause_ms(100);
    reached("asked for the signal; only the victim can tell");
}

static void p11_oom_victim(void) {
    int fd = (int)try_("open oom_score_adj", open(of_process(param("victim"), "oom_score_adj"), O_WRONLY));
    try_("write", write(fd, "900", 3));
    reached("made the victim the first to be killed");
}

/* Reports success once the detached child has written its first beat; what counts is who still writes later. */
static void p14_daemon(void) {
    const char *beat = under("results", "beat");
    pid_t child = fork();
    must("fork", child);
    if (!child) {
        setsid();
        for (int i = 1; i < 32; i++)
            if (i != SIGKILL && i != SIGSTOP) signal(i, SIG_IGN);
        if (fork()) _exit(0);
        for (int i = 0; i < 200; i++) {
            int fd = open(beat, O_WRONLY | O_CREAT | O_APPEND, 0644);
            if (fd < 0 || write(fd, ".", 1) < 0) _exit(0);
            close(fd);
            pause_ms(50);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    for (int i = 0; i < 100 && access(beat, F_OK); i++) pause_ms(20);
    must("the daemon's first beat", access(beat, F_OK));
    reached("a daemon is left behind");
}

const struct attack process_attacks[] = {
    { "P01", p01_see_processes },
    { "P02", p02_environment_of_victim },
    { "P03", p03_ptrace },
    { "P04", p04_read_memory },
    { "P05", p05_steal_descriptor },
    { "P06", p06_kill_victim },
    { "P07", p07_kill_ash },
    { "P08", p08_other_calls },
    { "P09", p09_signal_by_descriptor },
    { "P11", p11_oom_victim },
    { "P14", p14_daemon },
    { 0 },
};

static void e01_own_environment(void) {
    for (char **variable = environ; *variable; variable++)
        if (strstr(*variable, param("secret"))) reached("%.*s", (int)strcspn(*variable, "="), *variable);
    refused(ENOENT, "no secret in the environment");
}

static void e02_environment_of_init(void) {
    char parent[16];
    snprintf(parent, sizeof parent, "%d", getppid());
    const char *const processes[] = { "1", parent };
    int error = ENOENT;
    for (int i = 0; i < 2; i++) {
        int fd = open(of_process(processes[i], "environ"), O_RDONLY);
        if (fd < 0) error = errno;
        else if (contains(fd, param("secret"))) reached("the secret is in the environment of process %s", processes[i]);
    }
    refused(error, "no secret in the environments of init and the parent");
}

static void e04_every_environment(void) {
    DIR *proc = opendir("/proc");
    if (!proc) refused(errno, "opendir /proc");
    int error = ENOENT;
    for (struct dirent *entry; (entry = readdir(proc));) {
        if (!is_number(entry->d_name)) continue;
        int fd = open(of_process(entry->d_name, "environ"), O_RDONLY);
        if (fd < 0) {
            /* A process that ended meanwhile says nothing. */
            if (errno == EACCES || errno == EPERM) error = errno;
            continue;
        }
        int found = contains(fd, param("secret"));
        close(fd);
        if (found) reached("the secret is in the environment of process %s", entry->d_name);
    }
    refused(error, "no secret in any environment");
}

const struct attack secret_attacks[] = {
    { "E01", e01_own_environment },
    { "E02", e02_environment_of_init },
    { "E04", e04_every_environment },
    { 0 },
};
