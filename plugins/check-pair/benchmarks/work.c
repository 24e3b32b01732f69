/* Burns CPU time in proportion to its first argument, and a little memory; with a second one so many times, and then it
   prints the nanoseconds of CPU time of each. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t work(uint64_t state, long rounds) {
    for (long i = 0; i < rounds; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(int argc, char **argv) {
    uint64_t state = 88172645463325252u;
    long rounds = argc > 1 ? atol(argv[1]) : 0, times = argc > 2 ? atol(argv[2]) : 0;
    if (times == 0)
        return work(state, rounds) == 0;
    for (long i = 0; i < times; i++) {
        int64_t start = now();
        state = work(state, rounds);
        printf("%lld\n", (long long)(now() - start));
    }
    return state == 0;
}
