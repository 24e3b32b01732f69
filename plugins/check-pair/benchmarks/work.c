/* Burns CPU time in proportion to its argument, and a little memory. */
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    uint64_t state = 88172645463325252u;
    long rounds = argc > 1 ? atol(argv[1]) : 0;
    for (long i = 0; i < rounds; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state == 0;
}
