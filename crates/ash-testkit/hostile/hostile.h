/*
 * What every attack of the hostile program shares.
 *
 * Protocol: `hostile ID [key=value...]` prints `STARTED ID`, tries, and prints one verdict line:
 *   REACHED detail            exit 0    the attacker's goal was reached, as far as can be told from here
 *   REFUSED ERRNO detail      exit 42   the system said no
 *   ABSENT reason             exit 43   this kernel or machine does not have the thing that is attacked
 * Everything else, a broken attack included, is a test failure: only a refusal that names itself counts as one.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

#define EXIT_REFUSED 42
#define EXIT_ABSENT 43
#define EXIT_BROKEN 99

/* Pretended success: the call returned 0 and nothing changed. */
#define INERT (-1)
/* The process that tried was killed by SIGSYS. */
#define KILLED_SIGSYS (-2)

struct attack {
    const char *id;
    void (*run)(void);
};

/* Ends the program with a verdict. */
_Noreturn void reached(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void refused(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void absent(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The value of a `key=value` argument; a missing one is a broken attack. */
const char *param(const char *key);
const char *param_or(const char *key, const char *fallback);
long number(const char *key);
/* `<value of key>/<relative>`; the caller never frees it. */
const char *under(const char *key, const char *relative);

/* A step that has nothing to do with the attack and must work. */
long must(const char *what, long result);
/* The attacked step: a negative result is the refusal. */
long try_(const char *what, long result);

/* Whether the file (opened by the caller) starts with or contains the text. */
int contains(int fd, const char *text);
/* Writes the text to a new or truncated file; -1 with errno on failure. */
int put(const char *path, const char *text);
/* Makes every missing directory above the path; failures are left for the following open to show. */
void make_parents(const char *path);
/* Sleeps without signals mattering. */
void pause_ms(long milliseconds);
/* A system call in a forked child: its errno, 0, KILLED_SIGSYS, or -3 for another signal. */
int in_child(int (*call)(void));

extern const struct attack read_attacks[], exec_attacks[], write_attacks[], persist_attacks[], result_attacks[],
    process_attacks[], secret_attacks[], kernel_attacks[], namespace_attacks[], network_attacks[], unix_attacks[],
    ipc_attacks[], terminal_attacks[], resource_attacks[], root_attacks[];

/* Subcommands that set a scene and then run a command in it. */
int victim_main(int argc, char **argv);
int pty_run_main(int argc, char **argv);
int keyring_run_main(int argc, char **argv);

#endif
