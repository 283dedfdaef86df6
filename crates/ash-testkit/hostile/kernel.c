/* Kernel interfaces with a record of escapes, keyrings, and system calls by another ABI. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void s10_io_uring(void) {
    struct io_uring_params ring;
    memset(&ring, 0, sizeof ring);
    try_("io_uring_setup", syscall(SYS_io_uring_setup, 4, &ring));
    reached("made an io_uring");
}

static void s11_bpf(void) {
    union bpf_attr map;
    memset(&map, 0, sizeof map);
    map.map_type = BPF_MAP_TYPE_ARRAY;
    map.key_size = 4;
    map.value_size = 4;
    map.max_entries = 1;
    try_("bpf(BPF_MAP_CREATE)", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
    reached("made a BPF map");
}

static void s12_perf(void) {
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.type = PERF_TYPE_SOFTWARE;
    event.size = sizeof event;
    event.config = PERF_COUNT_SW_TASK_CLOCK;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    try_("perf_event_open", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
    reached("opened a perf event");
}

static void s13_userfaultfd(void) {
    try_("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */));
    reached("opened a userfaultfd");
}

static _Noreturn void read_key(const char *what, int keyring) {
    char value[256];
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, keyring, "user", param("key"), 0);
    try_(what, key);
    long size = try_("keyctl read", syscall(SYS_keyctl, KEYCTL_READ, key, value, sizeof value));
    if (size != (long)strlen(param("secret")) || memcmp(value, param("secret"), (size_t)size))
        refused(ENODATA, "%s holds something else", what);
    reached("%s", what);
}

static void s14_user_keyring(void) { read_key("search the user keyring", KEY_SPEC_USER_KEYRING); }
static void s23_session_keyring(void) { read_key("search the session keyring", KEY_SPEC_SESSION_KEYRING); }

static void s15_add_key(void) {
    const int keyrings[] = { KEY_SPEC_USER_KEYRING, KEY_SPEC_SESSION_KEYRING, KEY_SPEC_PROCESS_KEYRING };
    for (size_t i = 0; i < sizeof keyrings / sizeof *keyrings; i++) {
        long key = syscall(SYS_add_key, "user", param("unique"), "x", 1, keyrings[i]);
        if (key < 0) continue;
        syscall(SYS_keyctl, KEYCTL_UNLINK, key, keyrings[i]);
        reached("added a key to keyring %d", keyrings[i]);
    }
    refused(errno, "add_key");
}

/* Finds a key in any keyring the session can reach, without naming one. */
static void s16_request_key(void) {
    try_("request_key", syscall(SYS_request_key, "user", param("key"), NULL, 0));
    reached("found the key");
}

#ifdef __x86_64__
/* socketcall numbers differ on i386: a filter that does not look at the architecture sees another call. */
static int socket_by_int80(void) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(359L), "b"(1L), "c"(1L), "d"(0L) : "memory");
    return result >= 0 ? 0 : (int)-result;
}

static int socket_by_x32(void) {
    return syscall(0x40000000 | SYS_socket, AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : errno;
}

static void s17_int80(void) {
    int result = in_child(socket_by_int80);
    if (result == -3) absent("this kernel has no 32-bit emulation");
    if (result) refused(result, "socket(AF_UNIX) by int 0x80");
    reached("made a Unix socket by int 0x80");
}

static void s18_x32(void) {
    int result = in_child(socket_by_x32);
    if (result == -3) broken("killed by a signal other than SIGSYS");
    if (result) refused(result, "socket(AF_UNIX) by the x32 ABI");
    reached("made a Unix socket by the x32 ABI");
}
#else
static void s17_int80(void) { absent("x86-64 only"); }
static void s18_x32(void) { absent("x86-64 only"); }
#endif

/* Limits and priorities of a process that is not its own. */
static void s19_limits_of_others(void) {
    struct rlimit limit = { 64, 64 };
    pid_t victim = (pid_t)number("victim");
    long by_limit = syscall(SYS_prlimit64, victim, RLIMIT_NOFILE, &limit, NULL);
    int error = errno;
    if (!setpriority(PRIO_PROCESS, (id_t)victim, 15)) reached("changed the victim's priority");
    if (by_limit) refused(error, "prlimit and setpriority on the victim");
    reached("changed the victim's limits");
}

const struct attack kernel_attacks[] = {
    { "S10", s10_io_uring },
    { "S11", s11_bpf },
    { "S12", s12_perf },
    { "S13", s13_userfaultfd },
    { "S14", s14_user_keyring },
    { "S15", s15_add_key },
    { "S16", s16_request_key },
    { "S17", s17_int80 },
    { "S18", s18_x32 },
    { "S19", s19_limits_of_others },
    { "S23", s23_session_keyring },
    { 0 },
};
