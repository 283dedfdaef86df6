/* Shared memory and message queues of the user's other programs. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

static void i01_posix_shared_memory(void) {
    char path[256];
    snprintf(path, sizeof path, "/dev/shm/%s", param("victim-shm"));
    int fd = (int)try_(path, open(path, O_RDWR));
    if (!contains(fd, param("secret"))) refused(ENODATA, "another object has that name here");
    reached("read the victim's shared memory");
}

static void i02_sysv_shared_memory(void) {
    int id = shmget((key_t)number("victim-sysv"), 0, 0);
    if (id < 0 && errno == ENOSYS && !param_or("sandboxed", NULL)) absent("this kernel has no SysV IPC");
    try_("shmget", id);
    const char *memory = shmat(id, NULL, SHM_RDONLY);
    if (memory == (void *)-1) refused(errno, "shmat");
    if (strcmp(memory, param("secret"))) refused(ENODATA, "another segment has that key here");
    reached("read the victim's SysV segment");
}

static void i03_message_queue(void) {
    char name[256];
    snprintf(name, sizeof name, "/%s", param("victim-queue"));
    mqd_t queue = mq_open(name, O_RDWR);
    if (queue < 0 && errno == ENOSYS && !param_or("sandboxed", NULL)) absent("this kernel has no message queues");
    try_("mq_open", queue);
    reached("opened the victim's message queue");
}

const struct attack ipc_attacks[] = {
    { "I01", i01_posix_shared_memory },
    { "I02", i02_sysv_shared_memory },
    { "I03", i03_message_queue },
    { 0 },
};
