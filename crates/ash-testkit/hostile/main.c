/* Finds the attack by its id and runs it. */
#include "hostile.h"

#include <stdio.h>
#include <string.h>

int parameter_count;
char **parameters;

static const struct attack *const areas[] = {
    read_attacks, exec_attacks, write_attacks, persist_attacks, result_attacks, process_attacks, secret_attacks,
    kernel_attacks, namespace_attacks, network_attacks, unix_attacks, ipc_attacks, terminal_attacks, resource_attacks,
    root_attacks,
};

static int list(void) {
    for (size_t area = 0; area < sizeof areas / sizeof *areas; area++)
        for (const struct attack *attack = areas[area]; attack->id; attack++) puts(attack->id);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: hostile ID [key=value...] | list | victim ... | pty-run -- CMD... | keyring-run NAME SECRET -- CMD...\n", stderr);
        return EXIT_BROKEN;
    }
    if (!strcmp(argv[1], "list")) return list();
    if (!strcmp(argv[1], "victim")) return victim_main(argc - 2, argv + 2);
    if (!strcmp(argv[1], "pty-run")) return pty_run_main(argc - 2, argv + 2);
    if (!strcmp(argv[1], "keyring-run")) return keyring_run_main(argc - 2, argv + 2);
    parameter_count = argc - 2;
    parameters = argv + 2;
    for (size_t area = 0; area < sizeof areas / sizeof *areas; area++)
        for (const struct attack *attack = areas[area]; attack->id; attack++)
            if (!strcmp(attack->id, argv[1])) {
                printf("STARTED %s\n", attack->id);
                fflush(stdout);
                attack->run();
                broken("%s ended without a verdict", attack->id);
            }
    broken("no attack %s", argv[1]);
}
