/* The floor: a loop that starts a program with posix_spawn and waits for it, and nothing else.
   floor RUNS PROGRAM [WORD...] prints a line for each run: wall, cpu (ns), peak memory (B). */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long ns(struct timeval t)
{
    return t.tv_sec * 1000000000LL + t.tv_usec * 1000LL;
}

int main(int count, char **words)
{
    struct rusage used;
    int status;
    pid_t pid;

    if (count < 3)
        return 2;
    for (int runs = atoi(words[1]); runs > 0; runs--) {
        long long start = now();
        if (posix_spawn(&pid, words[2], NULL, NULL, words + 2, environ))
            return 1;
        wait4(pid, &status, 0, &used);
        long long end = now();
        printf("%lld %lld %lld\n", end - start, ns(used.ru_utime) + ns(used.ru_stime), used.ru_maxrss * 1024LL);
    }
    return 0;
}
