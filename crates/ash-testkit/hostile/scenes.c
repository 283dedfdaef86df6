/* Scenes the attacks need around them: a victim process, a terminal, a session keyring with a key. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* Where the command of `… -- CMD ARG...` starts. */
static char **command_of(int argc, char **argv) {
    for (int i = 0; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--")) return argv + i + 1;
    broken("no command after --");
}

static int exit_code(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The victim proper: owns a terminal and records what others write on it. */
static _Noreturn void live(int terminal, const char *log_path) {
    char buffer[512];
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct pollfd written = { .fd = terminal, .events = POLLIN };
    while (poll(&written, 1, -1) >= 0) {
        ssize_t got = read(terminal, buffer, sizeof buffer);
        if (got > 0 && write(log, buffer, (size_t)got) < 0) break;
    }
    _exit(0);
}

/*
 * victim NAME SECRET PRIVATE_FILE PTS_LOG: a process with the secret in memory, in a descriptor, in shared memory of both kinds,
 * with a message queue, and with a terminal whose text goes to PTS_LOG. A keeper prints where everything is and takes it away when
 * its stdin closes, even if the victim was killed.
 */
int victim_main(int argc, char **argv) {
    if (argc != 4) broken("victim NAME SECRET PRIVATE_FILE PTS_LOG");
    char path[256], queue_name[256], buffer[64];
    static char memory[128];
    snprintf(memory, sizeof memory, "%s", argv[1]);
    int private_file = (int)must("open the private file", open(argv[2], O_RDONLY | O_CLOEXEC));

    snprintf(path, sizeof path, "/dev/shm/%s", argv[0]);
    must("shared memory", put(path, argv[1]));
    must("its mode", chmod(path, 0600));

    key_t key = (key_t)(getpid() | 0x41000000);
    int segment = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600);
    if (segment >= 0) snprintf(shmat(segment, NULL, 0), 4096, "%s", argv[1]);

    snprintf(queue_name, sizeof queue_name, "/%s", argv[0]);
    struct mq_attr shape = { .mq_maxmsg = 1, .mq_msgsize = 16 };
    mqd_t queue = mq_open(queue_name, O_RDWR | O_CREAT | O_EXCL, 0600, &shape);

    int terminal = (int)must("posix_openpt", posix_openpt(O_RDWR | O_NOCTTY));
    must("grantpt", grantpt(terminal));
    must("unlockpt", unlockpt(terminal));
    const char *name = ptsname(terminal);
    must("open the terminal", open(name, O_RDWR | O_NOCTTY));

    pid_t victim = fork();
    must("fork", victim);
    if (!victim) {
        fclose(stdout);
        close(0);
        live(terminal, argv[3]);
    }
    printf("victim=%d victim-address=%lx victim-fd=%d victim-shm=%s victim-sysv=%ld victim-queue=%s victim-pts=%s\n", victim,
           (unsigned long)memory, private_file, argv[0], (long)key, argv[0], name);
    fclose(stdout);
    while (read(0, buffer, sizeof buffer) > 0) {}
    kill(victim, SIGKILL);
    unlink(path);
    if (segment >= 0) shmctl(segment, IPC_RMID, NULL);
    if (queue >= 0) mq_unlink(queue_name);
    return 0;
}

/*
 * pty-run -- CMD...: runs CMD on a terminal of its own and prints its output, then `TYPED text` with what is waiting in that
 * terminal's input: what somebody typed into it.
 */
int pty_run_main(int argc, char **argv) {
    char **command = command_of(argc, argv), buffer[4096];
    int status, master = (int)must("posix_openpt", posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    must("grantpt", grantpt(master));
    must("unlockpt", unlockpt(master));
    const char *name = ptsname(master);
    int slave = (int)must("open the terminal", open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    struct termios raw;
    must("tcgetattr", tcgetattr(slave, &raw));
    cfmakeraw(&raw);
    must("tcsetattr", tcsetattr(slave, TCSANOW, &raw));
    pid_t child = fork();
    must("fork", child);
    if (!child) {
        setsid();
        int own = open(name, O_RDWR);
        ioctl(own, TIOCSCTTY, 0);
        for (int fd = 0; fd < 3; fd++) dup2(own, fd);
        if (own > 2) close(own);
        execvp(command[0], command);
        _exit(127);
    }
    struct pollfd output = { .fd = master, .events = POLLIN };
    int ended = 0;
    for (;;) {
        if (poll(&output, 1, 50) > 0 && output.revents & POLLIN) {
            ssize_t got = read(master, buffer, sizeof buffer);
            if (got > 0) fwrite(buffer, 1, (size_t)got, stdout);
            continue;
        }
        if (ended) break;
        ended = waitpid(child, &status, WNOHANG) == child;
    }
    int waiting = 0;
    fcntl(slave, F_SETFL, O_NONBLOCK);
    ssize_t typed = ioctl(slave, FIONREAD, &waiting) || !waiting ? 0 : read(slave, buffer, sizeof buffer);
    printf("\nTYPED %.*s\n", typed > 0 ? (int)typed : 0, buffer);
    fflush(stdout);
    return exit_code(status);
}

/* keyring-run NAME SECRET -- CMD...: a fresh session keyring and the user keyring hold the key while CMD runs. */
int keyring_run_main(int argc, char **argv) {
    char **command = command_of(argc, argv);
    int status;
    const char *name = argv[0], *secret = argv[1];
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0) {
        if (errno == ENOSYS) absent("this kernel has no keyrings");
        broken("join a session keyring");
    }
    must("link the user keyring", syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_SESSION_KEYRING));
    must("add to the session", syscall(SYS_add_key, "user", name, secret, strlen(secret), KEY_SPEC_SESSION_KEYRING));
    long key = must("add to the user", syscall(SYS_add_key, "user", name, secret, strlen(secret), KEY_SPEC_USER_KEYRING));
    syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, 120);
    pid_t child = fork();
    must("fork", child);
    if (!child) {
        execvp(command[0], command);
        _exit(127);
    }
    must("waitpid", waitpid(child, &status, 0));
    syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
    return exit_code(status);
}
