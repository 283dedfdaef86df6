/* What a scanner leaves in its results for those who read, write, publish or delete them later. */
#define _GNU_SOURCE
#include "hostile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static void f29_block_device(void) {
    try_("mknod", mknod(under("results", "disk"), S_IFBLK | 0600, makedev(7, 0)));
    reached("made a block device");
}

static void f30_fifo(void) {
    try_("mkfifo", mkfifo(under("results", "out.json"), 0644));
    reached("left a FIFO named out.json");
}

static int bind_socket(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return -1;
    if (strlen(path) >= sizeof address.sun_path) broken("%s is too long for a socket", path);
    strcpy(address.sun_path, path);
    return bind(fd, (struct sockaddr *)&address, sizeof address);
}

static void f31_bound_socket(void) {
    try_("bind a Unix socket", bind_socket(under("results", "s")));
    reached("left a bound socket");
}

static void f32_link_for_the_reporter(void) {
    try_("symlink", symlink(under("home", "outside.txt"), under("results", "report.json")));
    reached("left report.json -> ~/outside.txt");
}

static void f33_unreadable_results(void) {
    struct stat found;
    const char *results = param("results");
    must("write a result", put(under("results", "out.json"), "{}\n"));
    try_("chmod 000 results", chmod(results, 0));
    must("stat results", stat(results, &found));
    if (found.st_mode & 0777) refused(INERT, "chmod changed nothing");
    reached("results have mode 000");
}

static void f34_setuid_program(void) {
    const char *path = under("results", "helper");
    struct stat found;
    must("write results/helper", put(path, "#!/bin/sh\nid\n"));
    try_("chmod 04755", chmod(path, 04755));
    must("stat", stat(path, &found));
    if (!(found.st_mode & S_ISUID)) refused(INERT, "chmod changed nothing");
    reached("left a setuid program");
}

static void o01_report_is_a_link(void) {
    must("mkdir", mkdir(under("results", "reports"), 0755));
    try_("symlink", symlink(under("home", "outside.txt"), under("results", "reports/ash.sarif")));
    try_("symlink", symlink(under("home", "outside.txt"), under("results", "ASH.ScanResults.json")));
    reached("left links at the names ash writes");
}

static void o02_subdirectory_is_a_link(void) {
    try_("symlink", symlink(param("home"), under("results", "sub")));
    must("mkdir", mkdir(under("results", "deep"), 0755));
    try_("symlink", symlink("/", under("results", "deep/root")));
    reached("left sub -> ~");
}

/* A detached process that goes on exchanging a directory and a link for five seconds. */
static void o03_swapping_survivor(void) {
    const char *directory = under("results", "d"), *link_name = under("results", "l"), *spare = under("results", "s");
    must("mkdir", mkdir(directory, 0755));
    try_("symlink", symlink(param("home"), link_name));
    pid_t child = fork();
    must("fork", child);
    if (!child) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        if (fork()) _exit(0);
        for (int i = 0; i < 5000; i++) {
            rename(directory, spare);
            rename(link_name, directory);
            rename(spare, link_name);
            if (access(link_name, F_OK) && symlink(param("home"), link_name)) mkdir(directory, 0755);
            pause_ms(1);
        }
        _exit(0);
    }
    pause_ms(50);
    reached("a survivor swaps a directory for a link");
}

static void o04_readers_block(void) {
    int done = 0, error = 0;
    if (mkfifo(under("results", "results.json"), 0644)) error = errno; else done++;
    if (bind_socket(under("results", "q"))) error = errno; else done++;
    if (mknod(under("results", "zero"), S_IFCHR | 0666, makedev(1, 5))) error = errno; else done++;
    if (!done) refused(error, "FIFO, socket and device");
    reached("%d of FIFO, socket and device", done);
}

static void o06_modes_against_cleanup(void) {
    struct stat found;
    const char *sub = under("results", "locked");
    must("mkdir", mkdir(sub, 0755));
    must("write", put(under("results", "locked/file"), "x"));
    must("write", put(under("results", "silent.json"), "{}"));
    try_("chmod 000 file", chmod(under("results", "silent.json"), 0));
    try_("chmod 000 subdirectory", chmod(sub, 0));
    must("stat", stat(sub, &found));
    if (found.st_mode & 0777) refused(INERT, "chmod changed nothing");
    try_("chmod 0555 results", chmod(param("results"), 0555));
    reached("subdirectory 000, results 0555");
}

static void o08_huge_sparse_file(void) {
    signal(SIGXFSZ, SIG_IGN);
    int fd = (int)must("create", open(under("results", "huge.json"), O_WRONLY | O_CREAT, 0644));
    try_("ftruncate to 1 TiB", ftruncate(fd, 1LL << 40));
    reached("left a sparse file of 1 TiB");
}

static void o21_flood(void) {
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    for (long i = number("flood") / (long)sizeof block; i > 0; i--) {
        try_("write to stdout", write(1, block, sizeof block));
        if (i % 16 == 0) try_("write to stderr", write(2, block, sizeof block));
    }
    try_("write to stderr", write(2, "\n", 1));
    try_("write to stdout", write(1, "\n", 1));
    reached("flooded");
}

/* Every call that can set a setuid, setgid or sticky bit. */
static void o23_special_bits(void) {
    struct stat found;
    int bits = 0, error = EPERM;
    mode_t before = umask(0);
    const char *by_open = under("results", "by-open"), *by_mkdir = under("results", "by-mkdir");
    const char *by_fchmod = under("results", "by-fchmod"), *by_fchmodat2 = under("results", "by-fchmodat2");
    const char *by_mknod = under("results", "by-mknod");
    if (open(by_open, O_WRONLY | O_CREAT, 06755) < 0) error = errno;
    if (mkdir(by_mkdir, 02777)) error = errno;
    if (mknod(by_mknod, S_IFREG | 04755, 0)) error = errno;
    int fd = (int)must("create", open(by_fchmod, O_WRONLY | O_CREAT, 0644));
    if (fchmod(fd, 06755)) error = errno;
    must("create", open(by_fchmodat2, O_WRONLY | O_CREAT, 0644));
    if (syscall(452 /* fchmodat2 */, AT_FDCWD, by_fchmodat2, 06755, 0)) error = errno;
    umask(before);
    const char *const all[] = { by_open, by_mkdir, by_fchmod, by_fchmodat2, by_mknod };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!stat(all[i], &found) && found.st_mode & (S_ISUID | S_ISGID)) bits |= 1 << i;
    if (!bits) refused(error, "setuid and setgid bits");
    reached("special bits stick, mask %x", bits);
}

static void o24_hostile_names(void) {
    static const char *const names[] = {
        "line\nbreak.json", "esc\033]0;owned\007.json", "bad-\xff\xfe-utf8", "-rf", "trailing.", "trailing ", "CON",
        "Case", "case", "quote'\"`$(id)", "e\xcc\x81", "\xc3\xa9", "::warning::x", "<script>",
    };
    char path[4096], longest[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", param("results"), names[i]);
        try_("create", put(path, "{}"));
    }
    memset(longest, 'n', 255);
    longest[255] = '\0';
    snprintf(path, sizeof path, "%s/%s", param("results"), longest);
    try_("create", put(path, "{}"));
    snprintf(path, sizeof path, "%s/link\nto\033[31m", param("results"));
    try_("symlink", symlink("/etc", path));
    reached("left hostile names");
}

const struct attack result_attacks[] = {
    { "F29", f29_block_device },
    { "F30", f30_fifo },
    { "F31", f31_bound_socket },
    { "F32", f32_link_for_the_reporter },
    { "F33", f33_unreadable_results },
    { "F34", f34_setuid_program },
    { "O01", o01_report_is_a_link },
    { "O02", o02_subdirectory_is_a_link },
    { "O03", o03_swapping_survivor },
    { "O04", o04_readers_block },
    { "O06", o06_modes_against_cleanup },
    { "O08", o08_huge_sparse_file },
    { "O21", o21_flood },
    { "O23", o23_special_bits },
    { "O24", o24_hostile_names },
    { 0 },
};
