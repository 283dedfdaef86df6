/* Local services: a container runtime, the journal, an agent. */
#define _GNU_SOURCE
#include "hostile.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address_of(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) broken("%s is too long for a socket", path);
    strcpy(address->sun_path, path);
    return sizeof *address;
}

static _Noreturn void stream_to(const char *what, struct sockaddr_un *address, socklen_t length) {
    int fd = (int)try_("socket(AF_UNIX)", socket(AF_UNIX, SOCK_STREAM, 0));
    try_(what, connect(fd, (void *)address, length));
    try_("send", send(fd, param("secret"), strlen(param("secret")), MSG_NOSIGNAL));
    reached("%s", what);
}

static void n07_runtime_socket(void) {
    struct sockaddr_un address;
    socklen_t length = address_of(&address, param("unix-stream"));
    stream_to("connect to a container runtime's socket", &address, length);
}

static void n08_socket_in_mounted_directory(void) {
    struct sockaddr_un address;
    socklen_t length = address_of(&address, param("unix-mounted"));
    stream_to("connect to a socket in a readable directory", &address, length);
}

static void n09_abstract_socket(void) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *name = param("unix-abstract");
    memcpy(address.sun_path + 1, name, strlen(name));
    stream_to("connect to an abstract name", &address,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
}

static _Noreturn void datagram_to(const char *what, int fd) {
    struct sockaddr_un address;
    socklen_t length = address_of(&address, param("unix-datagram"));
    try_(what, sendto(fd, param("secret"), strlen(param("secret")), 0, (void *)&address, length));
    reached("%s", what);
}

static void n10_datagram(void) {
    datagram_to("sendto a log socket", (int)try_("socket(AF_UNIX, DGRAM)", socket(AF_UNIX, SOCK_DGRAM, 0)));
}

static void n11_datagram_pair(void) {
    int pair[2];
    try_("socketpair(DGRAM)", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    datagram_to("sendto a log socket from a pair", pair[0]);
}

static void n12_stream_pair(void) {
    int pair[2];
    char word[4] = "";
    try_("socketpair(STREAM)", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    try_("write", write(pair[0], "abc", 3));
    try_("read", read(pair[1], word, 3));
    if (strcmp(word, "abc")) broken("read something else");
    try_("socketpair(SEQPACKET)", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
    reached("stream pairs work");
}

const struct attack unix_attacks[] = {
    { "N07", n07_runtime_socket },
    { "N08", n08_socket_in_mounted_directory },
    { "N09", n09_abstract_socket },
    { "N10", n10_datagram },
    { "N11", n11_datagram_pair },
    { "N12", n12_stream_pair },
    { 0 },
};
