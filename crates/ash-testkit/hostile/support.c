/* Verdicts, parameters and the few file helpers the attacks share. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern int parameter_count;
extern char **parameters;

static const struct { int number; const char *name; } error_names[] = {
#define NAME(e) { e, #e }
    NAME(EPERM), NAME(ENOENT), NAME(ESRCH), NAME(EINTR), NAME(EIO), NAME(ENXIO), NAME(E2BIG), NAME(ENOEXEC),
    NAME(EBADF), NAME(ECHILD), NAME(EAGAIN), NAME(ENOMEM), NAME(EACCES), NAME(EFAULT), NAME(EBUSY), NAME(EEXIST),
    NAME(EXDEV), NAME(ENODEV), NAME(ENOTDIR), NAME(EISDIR), NAME(EINVAL), NAME(ENFILE), NAME(EMFILE), NAME(ENOTTY),
    NAME(EFBIG), NAME(ENOSPC), NAME(ESPIPE), NAME(EROFS), NAME(EMLINK), NAME(EPIPE), NAME(ELOOP), NAME(ENAMETOOLONG),
    NAME(ENOSYS), NAME(ENOTEMPTY), NAME(ENOKEY), NAME(EKEYEXPIRED), NAME(EKEYREVOKED), NAME(EDQUOT),
    NAME(EPROTONOSUPPORT), NAME(ESOCKTNOSUPPORT), NAME(EOPNOTSUPP), NAME(EAFNOSUPPORT), NAME(EADDRINUSE),
    NAME(EADDRNOTAVAIL), NAME(ENETDOWN), NAME(ENETUNREACH), NAME(ECONNRESET), NAME(ENOTCONN), NAME(ETIMEDOUT),
    NAME(ECONNREFUSED), NAME(EHOSTUNREACH), NAME(EPROTOTYPE), NAME(ENODATA), NAME(EUSERS), NAME(ESTALE),
#undef NAME
    { INERT, "INERT" }, { KILLED_SIGSYS, "SIGSYS" },
};

static const char *error_name(int error) {
    static char unknown[32];
    for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++)
        if (error_names[i].number == error) return error_names[i].name;
    snprintf(unknown, sizeof unknown, "E%d", error);
    return unknown;
}

static void say(const char *verdict, const char *format, va_list arguments) {
    printf("%s ", verdict);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
}

void reached(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("REACHED", format, arguments);
    _exit(0);
}

void refused(int error, const char *format, ...) {
    char verdict[64];
    va_list arguments;
    va_start(arguments, format);
    snprintf(verdict, sizeof verdict, "REFUSED %s", error_name(error));
    say(verdict, format, arguments);
    _exit(EXIT_REFUSED);
}

void absent(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("ABSENT", format, arguments);
    _exit(EXIT_ABSENT);
}

void broken(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("BROKEN", format, arguments);
    _exit(EXIT_BROKEN);
}

const char *param_or(const char *key, const char *fallback) {
    size_t length = strlen(key);
    for (int i = 0; i < parameter_count; i++)
        if (!strncmp(parameters[i], key, length) && parameters[i][length] == '=') return parameters[i] + length + 1;
    return fallback;
}

const char *param(const char *key) {
    const char *value = param_or(key, NULL);
    if (!value) broken("no parameter %s", key);
    return value;
}

long number(const char *key) {
    return strtol(param(key), NULL, 10);
}

const char *under(const char *key, const char *relative) {
    char *path;
    if (asprintf(&path, "%s/%s", param(key), relative) < 0) broken("out of memory");
    return path;
}

long must(const char *what, long result) {
    if (result < 0) broken("%s: %s (%s)", what, error_name(errno), strerror(errno));
    return result;
}

long try_(const char *what, long result) {
    if (result < 0) refused(errno, "%s", what);
    return result;
}

int contains(int fd, const char *text) {
    static char buffer[1 << 16];
    size_t have = 0;
    ssize_t got;
    while (have < sizeof buffer && (got = read(fd, buffer + have, sizeof buffer - have)) > 0) have += (size_t)got;
    return memmem(buffer, have, text, strlen(text)) != NULL;
}

int put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return -1;
    ssize_t wrote = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return wrote == (ssize_t)strlen(text) ? 0 : -1;
}

void make_parents(const char *path) {
    char *copy = strdup(path);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(copy, 0755);
        *slash = '/';
    }
    free(copy);
}

void pause_ms(long milliseconds) {
    struct timespec left = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

int in_child(int (*call)(void)) {
    int status;
    pid_t child = fork();
    must("fork", child);
    if (!child) _exit(call());
    must("waitpid", waitpid(child, &status, 0));
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGSYS ? KILLED_SIGSYS : -3;
    return WEXITSTATUS(status);
}
