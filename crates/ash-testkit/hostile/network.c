/* Getting a word out, or in, through the network. */
#define _GNU_SOURCE
#include "hostile.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static struct sockaddr_in loopback(const char *port) {
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)number(port)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static _Noreturn void tell(const char *what, int fd, const void *address, socklen_t length) {
    const char *secret = param("secret");
    try_(what, connect(fd, address, length));
    try_("send", send(fd, secret, strlen(secret), MSG_NOSIGNAL));
    reached("%s", what);
}

static void n01_tcp_loopback(void) {
    struct sockaddr_in address = loopback("tcp4");
    tell("TCP to a host service", (int)try_("socket", socket(AF_INET, SOCK_STREAM, 0)), &address, sizeof address);
}

static void n02_tcp6_loopback(void) {
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)number("tcp6")),
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    if (!number("tcp6")) absent("the host has no ::1");
    tell("TCP to a host service on ::1", (int)try_("socket", socket(AF_INET6, SOCK_STREAM, 0)), &address, sizeof address);
}

static void n03_mptcp(void) {
    struct sockaddr_in address = loopback("tcp4");
    int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
    tell("MPTCP to a host service", (int)try_("socket(IPPROTO_MPTCP)", fd), &address, sizeof address);
}

static void n04_fast_open(void) {
    struct sockaddr_in address = loopback("tcp4");
    const char *secret = param("secret");
    int fd = (int)try_("socket", socket(AF_INET, SOCK_STREAM, 0));
    try_("sendto(MSG_FASTOPEN)",
         sendto(fd, secret, strlen(secret), MSG_FASTOPEN | MSG_NOSIGNAL, (void *)&address, sizeof address));
    reached("TCP fast open to a host service");
}

/* A second datagram shows what became of the first: nobody listening answers with ECONNREFUSED. */
static void n05_udp(void) {
    struct sockaddr_in address = loopback("udp");
    const char *secret = param("secret");
    int fd = (int)try_("socket", socket(AF_INET, SOCK_DGRAM, 0));
    try_("connect", connect(fd, (void *)&address, sizeof address));
    try_("send", send(fd, secret, strlen(secret), 0));
    pause_ms(100);
    try_("send again", send(fd, secret, strlen(secret), 0));
    reached("UDP to a host service");
}

static void n06_listen_for_the_attacker(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)number("listen")) };
    int one = 1, fd = (int)try_("socket", socket(AF_INET, SOCK_STREAM, 0));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    try_("bind 0.0.0.0", bind(fd, (void *)&address, sizeof address));
    try_("listen", listen(fd, 8));
    struct pollfd waiting = { .fd = fd, .events = POLLIN };
    if (poll(&waiting, 1, 3000) == 1) {
        int caller = accept(fd, NULL, NULL);
        if (caller >= 0 && send(caller, param("secret"), strlen(param("secret")), MSG_NOSIGNAL) > 0) pause_ms(200);
        reached("somebody called in");
    }
    refused(ETIMEDOUT, "listening, but nobody can call in");
}

static void n15_packet_socket(void) {
    try_("socket(AF_PACKET)", socket(AF_PACKET, SOCK_RAW, htons(3)));
    reached("made a packet socket");
}

static void n16_raw_icmp(void) {
    try_("socket(SOCK_RAW, ICMP)", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    reached("made a raw socket");
}

static void n17_vsock(void) {
    int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
    try_("socket(AF_VSOCK)", fd);
    reached("made a vsock socket");
}

/* Every family but the three that a tool with a network may use: each is kernel code that an unreviewed program should not reach. */
static void n18_other_families(void) {
    char done[512] = "";
    int error = EAFNOSUPPORT;
    for (int family = 1; family < 48; family++) {
        if (family == AF_INET || family == AF_INET6) continue;
        for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++)
            for (int protocol = 0; protocol < (family == AF_NETLINK ? 22 : 1); protocol++) {
                if (family == AF_NETLINK && !protocol) continue;
                int fd = socket(family, type, protocol);
                if (fd < 0 && errno != EINVAL && errno != ESOCKTNOSUPPORT && errno != EPROTONOSUPPORT && errno != EAFNOSUPPORT) error = errno;
                if (fd < 0 || strlen(done) > 480) continue;
                snprintf(done + strlen(done), sizeof done - strlen(done), " %d/%d/%d", family, type, protocol);
                close(fd);
            }
    }
    if (!*done) refused(error, "every other socket family");
    reached("family/type/protocol:%s", done);
}

/* IP, but neither TCP nor UDP. */
static void n19_other_protocols(void) {
    static const struct { int type, protocol; } tries[] = {
        { SOCK_DGRAM, IPPROTO_ICMP }, { SOCK_STREAM, IPPROTO_SCTP }, { SOCK_SEQPACKET, IPPROTO_SCTP },
        { SOCK_DGRAM, 136 /* UDP-Lite */ }, { SOCK_STREAM, IPPROTO_MPTCP }, { SOCK_STREAM, 256 /* SMC */ },
        { SOCK_DGRAM, 115 /* L2TP */ }, { SOCK_DCCP, 33 }, { SOCK_RAW, IPPROTO_RAW },
    };
    char done[256] = "";
    int error = EPROTONOSUPPORT;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        if (socket(AF_INET, tries[i].type, tries[i].protocol) >= 0 || socket(AF_INET6, tries[i].type, tries[i].protocol) >= 0)
            snprintf(done + strlen(done), sizeof done - strlen(done), " %d", tries[i].protocol);
        else if (errno == EACCES || errno == EPERM) error = errno;
    }
    if (!*done && !param_or("sandboxed", NULL)) absent("this kernel has TCP and UDP only");
    if (!*done) refused(error, "every protocol but TCP and UDP");
    reached("protocols:%s", done);
}

static void n20_own_loopback(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    char word[4] = "";
    int server = (int)try_("socket", socket(AF_INET, SOCK_STREAM, 0));
    try_("bind", bind(server, (void *)&address, sizeof address));
    try_("listen", listen(server, 1));
    must("getsockname", getsockname(server, (void *)&address, &length));
    int client = (int)try_("socket", socket(AF_INET, SOCK_STREAM, 0));
    try_("connect", connect(client, (void *)&address, sizeof address));
    int peer = (int)try_("accept", accept(server, NULL, NULL));
    must("write", write(client, "abc", 3));
    must("read", read(peer, word, 3));
    if (strcmp(word, "abc")) broken("read something else");
    reached("own loopback works");
}

const struct attack network_attacks[] = {
    { "N01", n01_tcp_loopback },
    { "N02", n02_tcp6_loopback },
    { "N03", n03_mptcp },
    { "N04", n04_fast_open },
    { "N05", n05_udp },
    { "N06", n06_listen_for_the_attacker },
    { "N15", n15_packet_socket },
    { "N16", n16_raw_icmp },
    { "N17", n17_vsock },
    { "N18", n18_other_families },
    { "N19", n19_other_protocols },
    { "N20", n20_own_loopback },
    { 0 },
};
