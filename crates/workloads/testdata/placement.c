/* Prints the server that libmemcached gives each key of a file: its place in the list of arguments.
   usage: placement ketama|modulo FILE HOST:PORT... */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    memcached_st *client = memcached_create(NULL);
    if (strcmp(argv[1], "ketama") == 0) {
        memcached_behavior_set(client, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    }
    for (int i = 3; i < argc; i++) {
        char *port = strrchr(argv[i], ':');
        *port = 0;
        memcached_server_add(client, argv[i], (in_port_t)atoi(port + 1));
    }
    FILE *keys = fopen(argv[2], "r");
    char key[512];
    while (fscanf(keys, "%511s", key) == 1) {
        printf("%u\n", memcached_generate_hash(client, key, strlen(key)));
    }
    return 0;
}
